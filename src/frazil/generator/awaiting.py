"""Waiting for a walk in a task, while its event loop runs.

A claim may come in the same turn of the loop as a cancellation or the end of the timeout. If the
task is cancelled, it must end; ``asyncio.wait_for`` of Python 3.11 loses the cancellation. If the
timeout ends, the task has its claim; ``asyncio.timeout`` would raise an error. ``asyncio.wait`` is
right in both cases.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from frazil.errors import FrazilError
from frazil.generator.calls import Call
from frazil.generator.keeper import CLOSE_WAIT_S
from frazil.generator.kept_walk import KeptWalk, Pauses
from frazil.system.event_loop import the_loop


class AwaitedStream(AsyncIterator[int]):
    """Awaits the same call again and again, also after one that failed or was cancelled.

    An asynchronous generator would have ended.
    """

    def __init__(self, call: Callable[[], Awaitable[int]]) -> None:
        self._call = call

    def __anext__(self) -> Awaitable[int]:
        return self._call()


async def wait_through(walk: KeptWalk, pauses: Pauses, most_us: int | None = None) -> None:
    """Run the steps between the pauses, and wait for each pause."""
    for pause_ns, since_ns in pauses:
        await wait(walk, pause_ns, since_ns, most_us)


async def wait(walk: KeptWalk, pause_ns: int, since_ns: int, most_us: int | None = None) -> None:
    """See ``KeptWalk.wait``."""
    loop = the_loop()
    nap_ns = walk.nap_ns(pause_ns, since_ns, most_us)
    if nap_ns is not None:
        await asyncio.sleep(nap_ns / 1e9)
        return
    woken: asyncio.Future[FrazilError | None] = loop.create_future()
    call = _Awaited(loop, woken)
    try:
        walk.call_keeper(call, most_us)
        await asyncio.wait({woken}, timeout=walk.patience_s(since_ns, most_us))
        if not woken.done():
            raise walk.unserved(since_ns, most_us)
        error = woken.result()
    finally:
        del call  # the call ends here, even if a traceback keeps this frame
    if error is not None:
        raise walk.failed(error.again(), most_us)


async def close(walk: KeptWalk) -> None:
    """See ``KeptWalk.close``."""
    loop = the_loop()
    done: asyncio.Future[FrazilError | None] = loop.create_future()
    call = _Awaited(loop, done)
    walk.keeper.end(walk.finish(), call)
    await asyncio.wait({done}, timeout=CLOSE_WAIT_S)


class _Awaited(Call):
    """The call of a task. The keeper's thread may wake it after the end of its loop."""

    __slots__ = ("_loop", "_woken")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, woken: "asyncio.Future[FrazilError | None]"
    ) -> None:
        self._loop = loop
        self._woken = woken

    def wake(self, error: FrazilError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(_settle, self._woken, error)
        except RuntimeError:
            if not self._loop.is_closed():
                raise


def _settle(woken: "asyncio.Future[FrazilError | None]", error: FrazilError | None) -> None:
    if not woken.done():
        woken.set_result(error)
