"""A link for asyncio, on connections of ``redis.asyncio``.

A connection belongs to one event loop and one process.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from frazil.redis_link.access import Place
from frazil.redis_link.calls import Line, LinkCalls, greeted_until_s
from frazil.system.clock import boot_s
from frazil.system.sockets import cut_in_children
from frazil.system.steps import run_async

_MOST_LINES = 32  # open at a time: a thousand tasks do not need a thousand connections


class AsyncLink(LinkCalls):
    """Calls a script on one server; used by one event loop at a time."""

    _gates: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    async def call(
        self, key: str, arguments: Sequence[str], again: Sequence[str], within_s: float
    ) -> list[str]:
        """See ``calling``. within_s: the time limit of the call."""
        until_s = boot_s() + within_s
        try:
            async with asyncio.timeout(within_s), self._gate():
                return await run_async(self.calling(key, arguments, again, until_s))
        except TimeoutError:
            raise self._explained(self._errors.TimeoutError("no answer"), sent=True) from None

    async def drop(self, *, wait: bool = False) -> None:
        """Close every connection that is not in use. wait: for the end of TLS."""
        while self._idle:
            await self._close(self._idle.popleft(), wait=wait)

    def _gate(self) -> asyncio.Semaphore:
        """Return the semaphore of this loop."""
        loop = asyncio.get_running_loop()
        if self._gates is None or self._gates[0] is not loop:
            self._gates = loop, asyncio.Semaphore(_MOST_LINES)
        return self._gates[1]

    def _line_to(self, place: Place, limit_s: float) -> Line:
        from redis.asyncio import connection as kinds

        return Line(self._connection(kinds, place, limit_s), place, asyncio.get_running_loop())

    async def _connect(self, line: Line, until_s: float) -> None:
        line.connection.until_s = greeted_until_s(self.access.timeout_s, until_s)
        connection = line.connection
        await self._within(line, connection.until_s, connection.connect)
        cut_in_children(connection, connection._writer.get_extra_info("socket"))  # noqa: SLF001

    async def _within(self, _line: Line, until_s: float, step: Callable[[], Any]) -> Any:
        async with asyncio.timeout(until_s - boot_s()):
            return await step()

    def _ours(self, line: Line) -> bool:
        return line.identity.intact() and line.loop is asyncio.get_running_loop()

    async def _readable(self, line: Line) -> Any:
        connection = line.connection
        asked = connection.can_read if hasattr(connection, "can_read") else None  # from redis 8 on
        return await (asked or connection.can_read_destructive)()

    async def _close(self, line: Line, *, wait: bool = False) -> None:
        if self._ours(line):  # another connection ends with its loop or process
            with suppress(Exception):
                await line.connection.disconnect(nowait=not wait)
