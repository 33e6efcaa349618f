"""The generator of ``http://`` for asyncio: the same calls, awaited.

A call is a round trip, so even a single ID is awaited. There is no prefetch; use
``await ids.take(n)``. Connections belong to a process and an event loop.
"""

import asyncio
from typing import TYPE_CHECKING

from frazil.remote.base import AsyncServed
from frazil.remote.http.calls import ServiceCalls, the_driver
from frazil.remote.http.config import ServiceConfig
from frazil.system.event_loop import the_loop

if TYPE_CHECKING:
    import httpx

__all__ = ["AsyncService"]


class _Life(ServiceCalls):
    """The connections of one process in one event loop."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._loop = the_loop()
        self._client: httpx.AsyncClient = the_driver().AsyncClient(timeout=None)

    def goes_on(self) -> bool:
        return super().goes_on() and self._loop is the_loop()

    async def attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self.config.asking(n)
        with self.in_words(patience_s):
            async with (
                asyncio.timeout(patience_s),
                self._client.stream("POST", url, headers=headers) as reply,
            ):
                gathered = self.gathered(n, headers, reply)
                async for part in reply.aiter_raw():
                    gathered.feed(part)
                return gathered.ids()

    async def hang_up(self) -> None:
        self.closed = True
        await self._client.aclose()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    _life_of = _Life
