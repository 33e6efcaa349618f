"""The generator of ``http://`` for asyncio: the same calls, awaited.

A call is a round trip, so even a single ID is awaited. There is no prefetch; use
``await ids.take(n)``. Connections belong to a process and an event loop.
"""

import asyncio
from contextlib import suppress
from typing import Any

from frazil.remote.base import AsyncServed
from frazil.remote.http.calls import ServiceCalls
from frazil.remote.http.config import ServiceConfig
from frazil.system.cut_sockets import cut_in_children
from frazil.system.event_loop import the_loop

__all__ = ["AsyncService"]

_MOST_LINES = 100  # in use at a time: a thousand tasks do not need a thousand connections


class _Wire:
    """The newest connection of a client.

    The driver has closed the one before, but not one whose TLS handshake was cancelled.
    """

    def __init__(self) -> None:
        self.stream: Any = None

    async def close(self) -> None:
        """Close the connection. A cancellation during the only wait does not keep it open."""
        if self.stream is not None:
            with suppress(Exception):
                await self.stream.aclose()


class _Network:
    """The driver's network, which stores each new connection in the wire."""

    def __init__(self, wire: _Wire, inner: Any) -> None:
        self._wire = wire
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def connect_tcp(self, *where: Any, **options: Any) -> Any:
        stream = self._wire.stream = await self._inner.connect_tcp(*where, **options)
        cut_in_children(self._wire, stream.get_extra_info("socket"))
        return stream


class _Life(ServiceCalls):
    """The connections of one process in one event loop."""

    _kind, _wire, _network = "AsyncClient", _Wire, _Network

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._loop = the_loop()
        self._gate = asyncio.Semaphore(_MOST_LINES)
        self._limits: set[asyncio.Timeout] = set()  # of the attempts in progress

    def goes_on(self) -> bool:
        return super().goes_on() and self._loop is the_loop()

    async def attempt(self, n: int, patience_s: float) -> bytes:
        with self.in_words(patience_s):
            async with asyncio.timeout(patience_s) as limit:
                self._limits.add(limit)
                try:
                    async with self._gate:
                        return await self._exchange(n)
                finally:
                    self._limits.discard(limit)

    async def hang_up(self) -> None:
        self.closed = True
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(self._loop.time())
        await self._close_surplus()

    async def _exchange(self, n: int) -> bytes:
        url, headers = self.config.asking(n)
        line = self.line()
        try:
            async with line.client.stream("POST", url, headers=headers) as reply:
                gathered = self.gathered(n, headers, reply)
                async for part in reply.aiter_raw():
                    gathered.feed(part)
        except BaseException as error:
            if self.identity.intact() and not isinstance(error, GeneratorExit):
                await line.wire.close()
            raise
        self.idle.append(line)
        await self._close_surplus()
        return gathered.ids()

    async def _close_surplus(self) -> None:
        while (line := self.surplus()) is not None:
            await line.wire.close()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    _life_of = _Life
