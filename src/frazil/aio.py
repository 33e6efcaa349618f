"""The asyncio skin: the same generator, waiting with the loop.

An ``async`` twin of a library is a second copy of each of its errors. Here there is none: making an
ID is arithmetic and needs no ``await``, and all I/O is the keeper's, in its own thread. What is
left to do differently is how to wait, so this file is only that. A call whose ID is ready returns
it without ever giving the loop away.

    async with frazil.aio.open() as ids:
        await ids()
        await ids.take(10_000)
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from frazil.clock import boot_ns
from frazil.errors import FrazilError
from frazil.generator import Generator
from frazil.issuing import AsyncIssuing
from frazil.opening import icicle_config, is_icicle, is_service, open_ids, service_config
from frazil.schemes import Scheme

__all__ = ["AsyncGenerator", "open"]


class AsyncGenerator(AsyncIssuing):
    """Unique IDs by ``await``. Wraps a Generator, which may be used directly too."""

    def __init__(self, ids: Generator) -> None:
        self.ids = ids
        self.scheme = ids.scheme

    async def __call__(self) -> int:
        """The next ID."""
        since_ns = boot_ns()
        while True:
            answer = self.ids.poll()
            if isinstance(answer, int):
                return answer
            await self._wait(answer.wait_ns, since_ns)

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        sense = self.ids.sense
        ids = self.ids.take_ready(n)
        since_ns = boot_ns()
        while len(ids) < n:
            await self._wait(self.ids.pause_ns(), since_ns)
            more = self.ids.take_ready(n - len(ids))
            if more:
                ids += more
                since_ns = boot_ns()
        return ids if self.ids.is_still(sense) else await self.take(n)

    async def fill(self, out: Any, at: int = 0) -> None:
        """Write IDs into ``out``, an array of 64-bit words, from index ``at`` to its end.

        The interpreted walk needs numpy's; the compiled one takes any buffer of such words.
        """
        sense, begun = self.ids.sense, at
        since_ns = boot_ns()
        while at < len(out):
            before, at = at, self.ids.fill(out, at)
            if at < len(out):
                if at > before:
                    since_ns = boot_ns()
                await self._wait(self.ids.pause_ns(), since_ns)
        if not self.ids.is_still(sense):
            await self.fill(out, begun)

    async def aclose(self) -> None:
        """Issue nothing more, and give back the unused part of the claim."""
        await asyncio.to_thread(self.ids.close)

    async def _wait(self, pause_ns: int, since_ns: int) -> None:
        wait_ns = self.ids.nap_ns(pause_ns, since_ns)
        if wait_ns is not None:
            await asyncio.sleep(wait_ns / 1e9)
            return
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[FrazilError | None] = loop.create_future()
        keeper = self.ids.call_keeper(_waker(loop, woken))
        try:
            error = await asyncio.wait_for(woken, self.ids.patience_s(since_ns))
        except TimeoutError:
            raise keeper.complaint((boot_ns() - since_ns) / 1e9) from None
        if error is not None:
            raise error.again()


def open(  # noqa: A001 - as in frazil.open
    url: str | None = None, scheme: str | Scheme = "icicle", **options: Any
) -> AsyncGenerator:
    """A generator to await. The arguments are those of ``frazil.open``; nothing is contacted.

    For ``icicle:`` it is an ``AsyncIcicle``, and for ``http:`` an ``AsyncService``, which have the
    same methods.
    """
    if is_icicle(url):
        from frazil.icicle.aio import AsyncIcicle

        return cast("AsyncGenerator", AsyncIcicle(icicle_config(url, scheme, **options)))
    if is_service(url):
        from frazil.client.aio import AsyncService

        return cast("AsyncGenerator", AsyncService(service_config(url, scheme, **options)))
    return AsyncGenerator(open_ids(url, scheme, **options))


def _waker(
    loop: asyncio.AbstractEventLoop, woken: "asyncio.Future[FrazilError | None]"
) -> Callable[[FrazilError | None], None]:
    """What the keeper calls, from its thread, also when the loop or the waiter is gone by then."""

    def settle(error: FrazilError | None) -> None:
        if not woken.done():
            woken.set_result(error)

    def wake(error: FrazilError | None) -> None:
        try:
            loop.call_soon_threadsafe(settle, error)
        except RuntimeError:
            if not loop.is_closed():
                raise

    return wake
