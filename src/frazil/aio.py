"""``frazil.aio``: the same generator, for code that runs in an event loop.

An ``async`` copy of a library would have each of its bugs a second time. So there is no copy:
making an ID is arithmetic, which needs no ``await``, and the keeper does all I/O in its own thread.
Only the waiting differs. A call whose ID is ready returns it and does not yield to the loop.

    async with frazil.aio.open() as ids:
        await ids()
        await ids.take(10_000)
"""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from frazil.generator.awaiting import AwaitedStream, close, wait, wait_through
from frazil.generator.generator import AsyncGenerator
from frazil.generator.kept_walk import KeptWalk
from frazil.generator.request import Duration, OpenRequest, make_request, refuse_full
from frazil.generator.status import Status
from frazil.inputs.arguments import check_count, refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.opening import OpenOptions, open_ids
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns
from frazil.walk.walk import Pause

if TYPE_CHECKING:
    from uuid import UUID

    from frazil.generator.order import After, Marks, Seen

Shown = TypeVar("Shown")

__all__ = ["AsyncGenerator", "AwaitedGenerator", "open"]


class AwaitedGenerator(AsyncGenerator):
    """See ``frazil.aio.AsyncGenerator``: IDs of a walk in this process."""

    def __init__(self, walk: KeptWalk) -> None:
        self._walk = walk
        self.config: OpenRequest = walk.request
        self.scheme: Scheme = walk.request.scheme

    async def __call__(self) -> int:
        since_ns = boot_ns()
        while True:
            identity = self._walk.own_identity()
            answer = self._walk.poll()
            if isinstance(answer, Pause):
                await wait(self._walk, answer.wait_ns, since_ns)
            elif identity.mine:
                return answer

    __anext__ = __call__

    async def after(self, *seen: "Seen", trusted: bool = True) -> int:
        return await self._one(int, self._walk.marks(seen, trusted=trusted))

    async def take(self, n: int, *, after: "After" = None) -> list[int]:
        walk, count = self._walk, check_count(n)
        marks = walk.marks(after)
        while True:
            identity = walk.own_identity()
            if marks:
                await wait_through(walk, walk.passing(marks))
            ids = walk.take_ready(count)
            if len(ids) < count:
                await wait_through(walk, walk.taking(ids, count))
            if identity.mine:
                return ids

    async def text(self, *, after: "After" = None) -> str:
        return await self._one(self.scheme.format, self._walk.marks(after))

    async def uuid(self) -> "UUID":
        self.scheme.check_uuid()
        return await self._one(self.scheme.uuid)

    async def _one(self, show: Callable[[int], Shown], marks: "Marks | None" = None) -> Shown:
        """The next ID after the marks, as it is to be shown."""
        while True:
            identity = self._walk.own_identity()
            if marks:
                await wait_through(self._walk, self._walk.passing(marks))
            shown = show(await self())
            if identity.mine:
                return shown

    def stream(self) -> AsyncIterator[int]:
        return AwaitedStream(self)

    async def ready(self, timeout: Duration | None = None) -> None:  # noqa: ASYNC109 - as Generator
        await wait_through(self._walk, self._walk.readying(), self._walk.ready_us(timeout))

    def status(self) -> Status:
        return self._walk.status()

    async def aclose(self) -> None:
        await close(self._walk)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.config,)

    def __repr__(self) -> str:
        config, state = self.config, " closed" * self._walk.closed
        return f"<frazil.AwaitedGenerator {config.namespace!r} at {self._walk.registry.url}{state}>"


def open(  # noqa: A001 - as in frazil.open
    url: UrlInput | None = None, scheme: str | Scheme = "icicle", **options: Unpack[OpenOptions]
) -> AsyncGenerator:
    """A generator whose calls are awaited. The arguments are those of ``frazil.open``.

    Contacts nothing, but imports the driver of the store, which takes time: call it before the loop
    runs, or in a thread. Raises ConfigError and LayoutError.
    """
    refuse_unknown("open", open_ids, options)
    request = make_request(url, scheme, **options)
    if request.url.opened_by.maker == "registry":
        return _reopen(request)
    generator: AsyncGenerator = request.url.opened_by.load().open_async_generator(request)
    return generator


def _reopen(request: OpenRequest) -> AwaitedGenerator:
    refuse_full(request.scheme)
    return AwaitedGenerator(KeptWalk(request))
