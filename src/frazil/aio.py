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
from contextlib import suppress
from typing import Any, cast

from frazil.errors import FrazilError
from frazil.generator.calls import Call
from frazil.generator.generator import Generator, check_count
from frazil.generator.keeper_thread import FAREWELL_S
from frazil.inputs.arguments import refuse_unknown
from frazil.opening import Url, choose, open_ids
from frazil.remote.base import AsyncIssuing, the_loop
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns
from frazil.walk.walk import Pause

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
            identity = self.ids.own_sense()
            answer = self.ids.poll()
            if isinstance(answer, Pause):
                await self._wait(answer.wait_ns, since_ns)
            elif identity.mine:
                return answer

    async def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        count = check_count(n)
        identity = self.ids.own_sense()
        ids = self.ids.take_ready(count)
        since_ns = boot_ns()
        while len(ids) < count:
            await self._wait(self.ids.pause_ns(), since_ns)
            more = self.ids.take_ready(count - len(ids))
            if more:
                ids += more
                since_ns = boot_ns()
        if identity.mine:
            return ids
        return await self.take(n)

    async def fill(self, out: Any, at: int = 0) -> None:
        """Write IDs into ``out``, an array of 64-bit words, from ID ``at`` to its end.

        An ID wider than 64 bits takes two words, the high one first. The interpreted walk needs
        numpy's arrays; the compiled one takes any buffer of such words.
        """
        identity, done = self.ids.own_sense(), check_count(at)
        size = len(out) // 2 if self.scheme.bits > 64 else len(out)
        since_ns = boot_ns()
        while done < size:
            before, done = done, self.ids.fill(out, done)
            if done < size:
                if done > before:
                    since_ns = boot_ns()
                await self._wait(self.ids.pause_ns(), since_ns)
        if not identity.mine:
            await self.fill(out, at)

    async def aclose(self) -> None:
        """Issue nothing more, and give back the unused part of the claim. Twice is no error."""
        loop = the_loop()
        done: asyncio.Future[FrazilError | None] = loop.create_future()
        call = _Awaited(loop, done)
        self.ids.keeper.end(self.ids.finish(), call)
        with suppress(TimeoutError):
            await asyncio.wait_for(done, FAREWELL_S)

    async def _wait(self, pause_ns: int, since_ns: int) -> None:
        loop = the_loop()
        wait_ns = self.ids.nap_ns(pause_ns, since_ns)
        if wait_ns is not None:
            await asyncio.sleep(wait_ns / 1e9)
            return
        woken: asyncio.Future[FrazilError | None] = loop.create_future()
        call = _Awaited(loop, woken)
        try:
            keeper = self.ids.call_keeper(call)
            try:
                error = await asyncio.wait_for(woken, self.ids.patience_s(since_ns))
            except TimeoutError:
                raise keeper.complaint((boot_ns() - since_ns) / 1e9) from None
        finally:
            del call  # the call ends here, also where a traceback keeps this frame
        if error is not None:
            raise error.again()


class _Awaited(Call):
    """The call of a task. Its keeper's thread wakes it, also when the loop is gone by then."""

    __slots__ = ("_loop", "_woken")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, woken: "asyncio.Future[FrazilError | None]"
    ) -> None:
        self._loop = loop
        self._woken = woken

    def wake(self, error: FrazilError | None) -> None:
        """See Call."""
        try:
            self._loop.call_soon_threadsafe(_settle, self._woken, error)
        except RuntimeError:
            if not self._loop.is_closed():
                raise


def _settle(woken: "asyncio.Future[FrazilError | None]", error: FrazilError | None) -> None:
    if not woken.done():
        woken.set_result(error)


def open(  # noqa: A001 - as in frazil.open
    url: Url | None = None, scheme: str | Scheme = "icicle", **options: Any
) -> AsyncGenerator:
    """A generator to await. The arguments are those of ``frazil.open``; nothing is contacted.

    For ``icicle:`` it is an ``AsyncIcicle``, and for ``http:`` an ``AsyncService``, which have the
    same methods.
    """
    refuse_unknown("open", open_ids, options)
    choice = choose(url, scheme, options)
    if choice[0] == "icicle":
        from frazil.remote.icicle.async_generator import AsyncIcicle

        return cast("AsyncGenerator", AsyncIcicle(choice[1]))
    if choice[0] == "service":
        from frazil.remote.http.async_generator import AsyncService

        return cast("AsyncGenerator", AsyncService(choice[1]))
    return AsyncGenerator(Generator(*choice[1]))
