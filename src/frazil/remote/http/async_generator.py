"""The generator of ``http://`` for asyncio: the same calls, awaited.

A call is a round trip, so even a single ID is awaited. There is no prefetch; use
``await ids.take(n)``. A session of aiohttp belongs to a process and an event loop.
"""

import asyncio
from socket import socket
from ssl import create_default_context
from typing import Any
from weakref import finalize, proxy

from frazil.remote.base import AsyncServed
from frazil.remote.http.calls import ServiceCalls
from frazil.remote.http.config import ServiceConfig, proxy_of
from frazil.remote.http.reply import in_words
from frazil.system.event_loop import the_loop
from frazil.system.extras import needs
from frazil.system.imports import load
from frazil.system.sockets import cut_in_children

with needs("asyncio and a service need aiohttp", "http"):
    import aiohttp

_MOST_LINES = 100  # in use at a time: a thousand tasks do not need a thousand connections
_KEPT_S = 5.0  # a balancer may forget a connection that is idle for longer
for _name in ("concurrent.futures.thread", "encodings.idna", "encodings.punycode"):
    load(_name)  # the first call would import it: see frazil.system.imports


class _Connector(aiohttp.TCPConnector):
    """The connections of one event loop."""

    def __del__(self, _warnings: Any = None) -> None:
        """Say nothing of a loop that ended first: its connections end with it."""


def _made(address: Any) -> socket:
    """A socket that is cut off in each child that is forked."""
    made = socket(*address[:3])
    cut_in_children(made, proxy(made))
    return made


class _Life(ServiceCalls):
    """The connections of one process in one event loop."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._loop = the_loop()
        self._gate = asyncio.Semaphore(_MOST_LINES)  # aiohttp's own would cancel those who wait
        self._session = aiohttp.ClientSession(
            connector=_Connector(
                limit=0,
                keepalive_timeout=_KEPT_S,
                socket_factory=_made,
                # aiohttp's own is made when it is imported
                ssl=create_default_context() if config.base.startswith("https:") else True,
            ),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),
        )
        # Else it would warn, as the connector would; the collector may end it before this object.
        finalize(self, self._session.detach).atexit = False
        found = proxy_of(config)
        self._proxy: dict[str, Any] = {}
        if found:
            (host, port), headers = found
            self._proxy = {"proxy": f"http://{host}:{port}", "proxy_headers": headers}

    def goes_on(self) -> bool:
        return super().goes_on() and self._loop is the_loop()

    async def attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self.config.asking(n)
        with in_words(self.config, patience_s, aiohttp.ClientError):
            async with asyncio.timeout(patience_s), self._gate:
                self.check()
                async with self._session.post(url, headers=headers, **self._proxy) as reply:
                    gathered = self.gathered(n, headers, reply.status, reply.headers)
                    async for part in reply.content.iter_any():
                        gathered.feed(part)
        return gathered.ids()

    async def hang_up(self) -> None:
        self.closed = True
        await self._session.close()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    _life_of = _Life
