"""A generator whose IDs are made by servers: what ``http:`` and ``icicle:`` have in common.

The connections and the prefetched IDs of one process are a ``Life``. After a fork, the child begins
a life of its own. A signal handler or another task may fork during a call; then both processes
continue that call with the IDs received so far. So each call runs inside ``_own``, which checks at
the end that the process is still the one that began. If it is not, the IDs belong to the parent,
and the call begins again.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from frazil.errors import Closed, ConfigError, FrazilError, Misuse, TryLater
from frazil.generator.awaiting import AwaitedStream
from frazil.generator.complaints import closed
from frazil.generator.generator import AsyncGenerator, Endless, Generator
from frazil.generator.journal import StoreJournal
from frazil.generator.order import After, Marks, Order, Seen
from frazil.generator.pacing import Retries
from frazil.generator.request import Duration, OpenRequest, patience_us, refuse_full
from frazil.generator.status import Status, freed, open_generators
from frazil.inputs.arguments import check_count
from frazil.remote.prefetch import Prefetch
from frazil.schemes.scheme import Scheme
from frazil.system.cached import Cached
from frazil.system.chance import jitter
from frazil.system.clock import boot_ns, moment, wall_us
from frazil.system.event_loop import the_loop, warn_if_blocked
from frazil.system.imports import load
from frazil.system.process import ProcessIdentity
from frazil.system.steps import Steps, run, run_async

if TYPE_CHECKING:
    from uuid import UUID

    from numpy.typing import NDArray

Answer = TypeVar("Answer")

_AHEAD_US = 60_000_000  # how far after a server's clock the IDs of others may be
_LEAST_S = 0.1  # a server has this time to answer a probe
_SHORT_NS = 100_000_000  # a wait that blocks an event loop for as long is worth a warning


class Life(ABC):
    """The part of a generator that belongs to one process."""

    def __init__(self, config: Any) -> None:
        self.identity = ProcessIdentity()
        self.timeout_us: int = config.request.timeout_us
        self.journal = StoreJournal(config.name, config.namespace)
        self.issued = self.waits = self.failures = self.errors = self.away_since_us = 0
        self.prefetch = Prefetch(config.prefetch, lambda n: run(self.ids(n)))

    @abstractmethod
    def ids(self, count: int, within_s: float = inf) -> Steps[list[int]]:
        """Get ``count`` IDs from a server, within the generator's timeout or ``within_s``."""

    @abstractmethod
    def array(self, count: int) -> "Steps[NDArray[Any]]":
        """Get ``count`` IDs as a numpy array."""

    @abstractmethod
    def hang_up(self) -> Any:
        """Close the connections."""

    def next(self) -> Steps[int]:
        """Get one ID, from the buffer if there is one."""
        if self.prefetch.most:
            n: int | None = yield self.prefetch.next
            if n is not None:
                return n
        return (yield from self.ids(1))[0]

    def clock_offset_s(self) -> float | None:
        """How far this host's clock is ahead of the servers'; None if their answers have none."""
        return None

    def beyond(self, count: int, order: Order, marks: Marks) -> Steps[list[int]]:
        """Get ``count`` IDs that exceed the marks.

        A server whose clock is behind is asked again when that has come to the tick after a mark,
        if it does so within the timeout.
        """
        if not count:
            return []
        top = max(marks.numbers, default=-1)
        if count == 1 and self.prefetch.buffer and self.prefetch.buffer[-1] > top:
            while (n := self.prefetch.ready()) is not None:
                if n > top:
                    return [n]
        found: list[int] = []
        until_ns = boot_ns() + self.timeout_us * 1000
        while True:
            ids = yield from self.ids(count - len(found))
            mark = order.greatest(marks, order.tick(max(ids, default=0)))
            found += [n for n in ids if mark is None or n > mark]
            if mark is None or len(found) == count:
                return found
            pause_s = order.wait_s(mark, min(ids))
            if boot_ns() + int(pause_s * 1e9) > until_ns:
                raise order.too_early(pause_s)
            yield pause_s

    def failed(self, error: FrazilError) -> None:
        """A request failed."""
        self.errors += 1
        if not isinstance(error, TryLater):
            self.journal.refused(error)
            return
        self.journal.failed(error, first=not self.away_since_us)
        self.away_since_us = self.away_since_us or wall_us()

    def answered(self) -> None:
        """A call has got its IDs."""
        if self.away_since_us:
            self.journal.back(self.away_since_us)
            self.away_since_us = 0

    def goes_on(self) -> bool:
        """Return whether this is still the process of this life."""
        return self.identity.intact()

    def check(self) -> None:
        """Raise Closed in a child that continues a call of its parent; ``_own`` catches it."""
        if not self.goes_on():
            raise Closed("this connection belongs to the parent; the child opens its own")


LifeT = TypeVar("LifeT", bound=Life)


class _Living(Generic[LifeT]):
    """A generator that begins a new life in each child. Subclasses set the class of the life."""

    _life_of: Callable[[Any], LifeT]

    def __init__(self, config: Any) -> None:
        refuse_full(config.request.scheme)
        self.config: OpenRequest = config.request
        self.scheme: Scheme = config.request.scheme
        self._config = config
        self._closed = False
        self._life: LifeT | None = None
        # By era. A parent's life is kept: the driver would close its connections with it, and an
        # event loop in the child would cancel the reads of the parent's loop.
        self._lives: dict[int, LifeT] = {}
        open_generators.add(self)

    def __del__(self) -> None:
        if "_lives" in self.__dict__:
            freed(self.status())

    def _alive(self) -> LifeT:
        """Return the life of this process. Raises Closed."""
        if self._closed:
            raise closed()
        life = self._life
        if life is None or not life.goes_on():
            fresh = self._life_of(self._config)
            life = self._lives.setdefault(fresh.identity.era, fresh)  # another thread's, if any
            if not life.goes_on():  # its event loop has ended
                life = self._lives[fresh.identity.era] = fresh
            self._life = life
        return life

    def _own(self, gather: Callable[[LifeT], Steps[Answer]], *, call: bool = True) -> Steps[Answer]:
        """Return what ``gather`` returns, in the process that called it.

        call: whether it is a call for an ID, which counts.
        """
        while True:
            life = self._alive()
            life.waits += call
            began_ns = boot_ns()
            try:
                found = yield from gather(life)
            except FrazilError as error:
                if life.goes_on():
                    self._waited(boot_ns() - began_ns)
                    if not isinstance(error, Closed | Misuse):
                        life.failures += call
                        life.failed(error)
                    raise
            else:
                life.answered()
                self._waited(boot_ns() - began_ns)
                # The driver makes no call between this return and its own, so no signal handler
                # runs, and none can fork, after the attribute is read.
                if life.goes_on() and life.identity.mine:
                    return found

    def _waited(self, long_ns: int) -> None:
        """A call has waited for as long."""

    @Cached
    def _order(self) -> Order:
        return Order(self.scheme, _AHEAD_US)

    def _after(self, *seen: Seen, trusted: bool) -> Steps[int]:
        marks = self._order.marks(seen, trusted=trusted)
        return self._one(int, marks)

    def _take(self, n: int, after: After) -> Steps[list[int]]:
        count = check_count(n)
        if after is None:
            return self._own(lambda life: life.ids(count))
        marks = self._order.marks(after)
        return self._own(lambda life: life.beyond(count, self._order, marks))

    def _text(self, after: After) -> Steps[str]:
        marks = None if after is None else self._order.marks(after)
        return self._one(self.scheme.format, marks)

    def _uuid(self) -> "Steps[UUID]":
        self.scheme.check_uuid()
        return self._one(self.scheme.uuid)

    def _one(self, shown: Callable[[int], Answer], marks: Marks | None = None) -> Steps[Answer]:
        def gather(life: LifeT) -> Steps[Answer]:
            if marks is None:
                return shown((yield from life.next()))
            return shown((yield from life.beyond(1, self._order, marks))[0])

        return self._own(gather)

    def _ready(self, timeout: Duration | None) -> Steps[None]:
        """Request one ID until it arrives, and drop it."""
        most_us = patience_us(timeout)
        most_us = self.config.timeout_us if most_us is None else most_us
        until_ns = boot_ns() + most_us * 1000
        retries = Retries()

        def one(life: LifeT) -> Steps[list[int]]:
            return life.ids(1, max((until_ns - boot_ns()) / 1e9, _LEAST_S))

        while True:
            try:
                yield from self._own(one, call=False)
            except TryLater:
                pause_s = retries.pause_s(jitter())
                if boot_ns() + int(pause_s * 1e9) > until_ns:
                    raise
            else:
                return
            yield pause_s

    def status(self) -> Status:
        """See ``frazil.Generator``. Of this process; a buffered ID counts as made."""
        life, now_us = self._life, wall_us()
        if life is None or not life.identity.intact():
            life = None
        away_us = life.away_since_us if life else 0
        error, error_us = (life.journal.last_error, life.journal.last_error_us) if life else ("", 0)
        layout = self.scheme.layout
        ends_us = None if layout.epoch_us is None else layout.exhausted_us
        return Status(
            namespace=self._config.namespace,
            scheme=self.scheme.name,
            store=self._config.name,
            closed=self._closed,
            issued=life.issued if life else 0,
            waits=life.waits if life else 0,
            failures=life.failures if life else 0,
            store_away_s=max(0.001, (now_us - away_us) / 1e6) if away_us else 0.0,
            store_errors=life.errors if life else 0,
            last_error=error,
            last_error_at=moment(error_us) if error else None,
            clock_offset_s=life.clock_offset_s() if life else None,
            exhausted_in_s=None if ends_us is None else (ends_us - now_us) / 1e6,
        )

    def _end(self) -> LifeT | None:
        """Issue no more IDs; return the life to hang up, unless it is a parent's."""
        self._closed = True
        life = self._life
        return life if life is not None and life.goes_on() else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._config,)

    def __repr__(self) -> str:
        config, state = self._config, " closed" * self._closed
        return f"<frazil.{type(self).__name__} {config.namespace!r} at {config.name}{state}>"


class Served(Endless, _Living[LifeT], Generator):
    """Unique IDs that servers make; of many, those of each server are in order."""

    _told = False

    def _waited(self, long_ns: int) -> None:
        """Warn once of a long call in a thread that runs an event loop."""
        if long_ns > _SHORT_NS and not self._told:
            self._told = warn_if_blocked(self._config.name)

    def __call__(self) -> int:
        if self._config.prefetch:
            life = self._alive()
            n = life.prefetch.ready()
            if n is not None and life.identity.mine:
                return n
        return run(self._own(lambda life: life.next()))

    def after(self, *seen: "Seen", trusted: bool = True) -> int:
        """See ``frazil.Generator``; later calls may return smaller IDs, of another server."""
        return run(self._after(*seen, trusted=trusted))

    def take(self, n: int, *, after: After = None) -> list[int]:
        return run(self._take(n, after))

    def array(self, n: int, dtype: str = "uint64", *, after: After = None) -> "NDArray[Any]":
        count, kind = check_count(n), self.scheme.array_dtype(dtype)
        marks = None if after is None else self._order.marks(after)

        def gather(life: LifeT) -> "Steps[NDArray[Any]]":
            if marks is None:
                row = yield from life.array(count)
            else:
                ids = yield from life.beyond(count, self._order, marks)
                row = load("frazil.schemes.arrays:from_ints")(ids, self.scheme.bits)
            return row if self.scheme.bits > 64 else row.view(kind)

        return run(self._own(gather))

    def text(self, *, after: After = None) -> str:
        return run(self._text(after))

    def uuid(self) -> "UUID":
        return run(self._uuid())

    def stream(self) -> Iterator[int]:
        return iter(self.__next__, None)

    def ready(self, timeout: Duration | None = None) -> None:
        run(self._ready(timeout))

    def close(self) -> None:
        life = self._end()
        if life is not None:
            life.prefetch.buffer.clear()
            life.hang_up()

    __next__ = __call__


class AsyncServed(_Living[LifeT], AsyncGenerator):
    """The same by ``await``. The tasks of one event loop at a time may share it."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if config.prefetch:
            raise ConfigError("?prefetch= is for threads; here, await ids.take(n)", url=config.name)

    async def __call__(self) -> int:
        return (await self.take(1))[0]

    async def after(self, *seen: "Seen", trusted: bool = True) -> int:
        return await run_async(self._after(*seen, trusted=trusted))

    async def take(self, n: int, *, after: After = None) -> list[int]:
        return await run_async(self._take(n, after))

    async def text(self, *, after: After = None) -> str:
        return await run_async(self._text(after))

    async def uuid(self) -> "UUID":
        return await run_async(self._uuid())

    def stream(self) -> AsyncIterator[int]:
        return AwaitedStream(self)

    async def ready(self, timeout: Duration | None = None) -> None:  # noqa: ASYNC109 - as Generator
        await run_async(self._ready(timeout))

    async def aclose(self) -> None:
        life = self._end()
        if life is not None:
            await life.hang_up()

    def _alive(self) -> LifeT:
        the_loop()
        return super()._alive()

    __anext__ = __call__
