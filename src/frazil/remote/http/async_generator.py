"""``http://`` for asyncio: the same calls, awaited.

Here a call is a round trip, so it has to be awaited where a claim's generator only computes. There
is no prefetch: ``await ids.take(n)`` and hand them out.

Connections belong to a process and to a loop, so a new one of either begins with none.
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
    """What one process has, in one loop."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._loop = the_loop()
        self._client: httpx.AsyncClient = the_driver().AsyncClient(timeout=None)

    def goes_on(self) -> bool:
        """Whether this is still that process, and that loop."""
        return super().goes_on() and self._loop is the_loop()

    async def attempt(self, n: int, patience_s: float) -> bytes:
        """See ServiceCalls."""
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
        """See Life."""
        self.closed = True
        await self._client.aclose()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    _config: ServiceConfig

    def _begin(self) -> _Life:
        return _Life(self._config)
