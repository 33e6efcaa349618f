"""A line to one Redis or Valkey server for asyncio: the same questions, awaited.

What a server must be, how its errors are explained and when an answer counts is all ``Link``. Only
the driver's connections are those of ``redis.asyncio``, and what waits is written once more here.

A connection belongs to the loop in which it was made, and to the process. What fails on one of them
is taken for the end of all that lie idle, since they lead to the same server. In a cluster the
nodes of the URL are all that is known, besides those that an answer names.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from frazil.redis_link.link import Access, Command, Link, Place, Script
from frazil.system.process import ProcessIdentity

__all__ = ["AsyncLink"]

_HOPS = 3
_MOST_LINES = 32  # open at a time: a thousand tasks are no reason for a thousand connections


class _Line(NamedTuple):
    connection: Any
    place: Place
    loop: asyncio.AbstractEventLoop
    identity: ProcessIdentity


class AsyncLink(Link):
    """Calls a script on one server; used by one event loop at a time."""

    def __init__(self, access: Access, script: Script) -> None:
        super().__init__(access, script)
        import redis.asyncio.connection

        self._kinds = redis.asyncio.connection
        self._lines: deque[_Line] = deque()
        self._gates: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None

    async def ask(
        self, key: str, arguments: Sequence[str], again: Sequence[str], within_s: float
    ) -> list[str]:
        """The script's answer; as ``call``."""
        replies: list[Any] = []
        sent = False
        try:
            timeout = asyncio.timeout(min(within_s, self.access.timeout_s))
            async with timeout, self._gate():
                sent = True
                for how, what in (("EVALSHA", self.script.sha), ("EVAL", self.script.source)):
                    replies = await self._tell(self.commands(how, what, key, arguments, again))
                    if not isinstance(replies[0], self._errors.NoScriptError):
                        break
        except TimeoutError:
            if sent:
                await self.hang_up()
            raise self._explained(self._errors.TimeoutError("no answer"), sent=sent) from None
        return self.answer(replies, arguments)

    async def hang_up(self, *, wait: bool = False) -> None:
        """Close every connection that is not in use.

        wait: until the server has heard, as TLS wants before a loop may end. Not where it is away.
        """
        while self._lines:
            await self._close(self._lines.popleft(), wait=wait)

    def _gate(self) -> asyncio.Semaphore:
        """What the tasks of this loop queue at."""
        loop = asyncio.get_running_loop()
        if self._gates is None or self._gates[0] is not loop:
            self._gates = loop, asyncio.Semaphore(_MOST_LINES)
        return self._gates[1]

    async def _tell(self, commands: list[Command]) -> list[Any]:
        replies: list[Any] = []
        for _ in range(_HOPS):
            line = await self._open_line()
            replies = await self._exchange(line, commands)
            self._lines.append(line)
            first = replies[0]
            if not isinstance(first, self._errors.MovedError):
                break
            self._place = (first.host or line.place[0], first.port)
        return replies

    async def _exchange(self, line: _Line, commands: list[Command]) -> list[Any]:
        connection = line.connection
        replies: list[Any] = []
        try:
            packed = connection.pack_commands(commands)
            await connection.send_packed_command(packed, check_health=False)
            for _ in commands:
                try:
                    replies.append(await connection.read_response())
                except self._errors.ResponseError as error:
                    replies.append(error)
        except self._errors.RedisError as error:
            await self._close(line)
            await self.hang_up()
            raise self._explained(error, sent=True) from error
        except BaseException:
            await self._close(line)
            raise
        return replies

    async def _open_line(self) -> _Line:
        loop = asyncio.get_running_loop()
        while self._lines:
            line = self._lines.pop()
            if line.loop is loop and line.identity.intact() and line.place == self._place:
                return line
            await self._close(line)
        connection: Any = self._connection(self._place, self.access.timeout_s)
        line = _Line(connection, self._place, loop, ProcessIdentity())
        try:
            await connection.connect()
            await connection.send_command("INFO", check_health=False)
            self._examine(await connection.read_response(), connection)
        except self._errors.RedisError as error:
            await self._close(line)
            raise self._explained(error, sent=False) from error
        except BaseException:
            await self._close(line)
            raise
        return line

    async def _close(self, line: _Line, *, wait: bool = False) -> None:
        """Hang up, where the line is ours; what another loop or process made ends with that."""
        if line.loop is asyncio.get_running_loop() and line.identity.intact():
            with suppress(Exception):
                await line.connection.disconnect(nowait=not wait)

    def _learn_nodes(self, connection: Any) -> None:
        """Nothing: it would have to be awaited."""
