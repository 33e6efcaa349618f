"""The generator in this process, which ``frazil.open`` returns for a registry.

It holds a walk and is not one, because a caller of the walk's verbs (adopt, queue, prolong, leave)
could make an ID repeat. The everyday call is as fast as the walk's: the compiled ``Caller`` reads
the walk's fields in C. Only a call that finds no ID ready calls ``KeptWalk``.

Pickling and copying carry the request and never the claim.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from frazil.generator.generator import Endless, Generator
from frazil.generator.kept_walk import KeptWalk
from frazil.generator.request import Duration, OpenRequest, refuse_full
from frazil.generator.status import Status
from frazil.inputs.arguments import check_count
from frazil.system.imports import load
from frazil.walk.walk import COMPILED, Caller

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from numpy.typing import NDArray

    from frazil.generator.order import After, Marks

Shown = TypeVar("Shown")

if TYPE_CHECKING or not COMPILED:
    from frazil.walk.atomic import AtomicCaller as _Base
else:
    _Base = Caller


class LocalGenerator(_Base, Endless, Generator):
    """See ``frazil.Generator``. Threads may share it."""

    _walk: KeptWalk

    def __init__(self, config: OpenRequest) -> None:
        refuse_full(config.scheme)
        self._walk = KeptWalk(config)
        super().__init__(self._walk)
        self.config = config
        self.scheme = config.scheme

    def take(self, n: int, *, after: "After" = None) -> list[int]:
        walk, count = self._walk, check_count(n)
        marks = None if after is None else walk.marks(after)
        while True:
            identity = walk.own_identity()
            if marks:
                self._pass(marks)
            ids = walk.take_ready(count)
            if len(ids) < count:
                for pause_ns, since_ns in walk.taking(ids, count):
                    walk.wait(pause_ns, since_ns)
            if identity.mine:
                return ids

    def array(self, n: int, dtype: str = "uint64", *, after: "After" = None) -> "NDArray[Any]":
        walk, count = self._walk, check_count(n)
        kind = self.scheme.array_dtype(dtype)
        marks = None if after is None else walk.marks(after)
        array: NDArray[Any]
        array, words = _arrays().empty(count, self.scheme.bits, kind)
        while True:
            identity = walk.own_identity()
            if marks:
                self._pass(marks)
            for pause_ns, since_ns in walk.filling(words, 0, count):
                walk.wait(pause_ns, since_ns)
            if identity.mine:
                return array

    def _pass(self, marks: "Marks") -> None:
        """Wait until every later ID is greater than the marks."""
        for pause_ns, since_ns in self._walk.passing(marks):
            self._walk.wait(pause_ns, since_ns)

    def text(self, *, after: "After" = None) -> str:
        marks = None if after is None else self._walk.marks(after)
        return self._one(self.scheme.format, marks)

    def uuid(self) -> "UUID":
        self.scheme.check_uuid()
        return self._one(self.scheme.uuid)

    def _one(self, show: "Callable[[int], Shown]", marks: "Marks | None" = None) -> "Shown":
        while True:
            identity = self._walk.own_identity()
            if marks:
                self._pass(marks)
            shown = show(self())
            if identity.mine:
                return shown

    def stream(self) -> Iterator[int]:
        return iter(self, None)  # in C: nothing runs between the ID and its user

    def ready(self, timeout: Duration | None = None) -> None:
        most_us = self._walk.ready_us(timeout)
        for pause_ns, since_ns in self._walk.readying():
            self._walk.wait(pause_ns, since_ns, most_us)

    def status(self) -> Status:
        return self._walk.status()

    def close(self) -> None:
        self._walk.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalGenerator, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<frazil.Generator {config.scheme.name} {config.namespace!r} at "
            f"{self._walk.registry.url}{' closed' if self._walk.closed else ''}>"
        )


def open_request(request: OpenRequest) -> Generator:
    """The generator of a request. Contacts nothing until the first ID is requested."""
    if request.url.opened_by.maker == "registry":
        return LocalGenerator(request)
    generator: Generator = request.url.opened_by.load().open_generator(request)
    return generator


@cache  # an import costs more than a short array
def _arrays() -> Any:
    return load("frazil.schemes.arrays")
