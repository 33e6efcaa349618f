"""The generator of ``http://`` for asyncio: the same calls, awaited.

A call is a round trip, so even a single ID is awaited. There is no prefetch; use
``await ids.take(n)``. Connections belong to a process and an event loop.

A client of httpx has locks, and a limited number of connections, which a cancelled task leaves in
use. So each connection has a client of its own.
"""

import asyncio
import ssl
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from frazil.remote.base import AsyncServed
from frazil.remote.http.calls import ServiceCalls
from frazil.remote.http.config import ServiceConfig
from frazil.remote.http.reply import in_words
from frazil.system.event_loop import the_loop
from frazil.system.extras import needs
from frazil.system.imports import load
from frazil.system.sockets import cut_in_children

_MOST_LINES = 100  # in use at a time: a thousand tasks do not need a thousand connections
_IMPORTED_BY_A_CALL = (
    "anyio._backends._asyncio",
    "anyio.abc",
    "anyio.lowlevel",
    "anyio.streams.tls",
    "anyio.to_thread",
    "certifi",
    "concurrent.futures.thread",
    "encodings.idna",
    "encodings.punycode",
    "httpcore",
)


def the_driver() -> Any:
    """Return httpx. Raises ConfigError if it is not installed.

    This also imports what the first call would import, and makes OpenSSL start. A fork during
    either in another thread would leave the child with one that never ends.
    """
    with needs("asyncio and a service need httpx", "http"):
        httpx = load("httpx")
    for name in _IMPORTED_BY_A_CALL:
        with suppress(ImportError):  # a driver with other internals
            load(name)
    _no_tls()
    return httpx


def _no_tls() -> ssl.SSLContext:
    """Return a TLS context without certificates, for clients that do not use TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


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


@dataclass(slots=True)
class _Line:
    """A client of httpx, for one call at a time. wire: closes its connection."""

    client: Any
    wire: _Wire


class _Life(ServiceCalls[_Line]):
    """The connections of one process in one event loop."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._driver = the_driver()
        tls = config.base.startswith("https:")  # it is slow to make, so clients share it
        self._trusted = ssl.create_default_context() if tls else _no_tls()
        self._errors = self._driver.HTTPError, self._driver.InvalidURL
        self._loop = the_loop()
        self._gate = asyncio.Semaphore(_MOST_LINES)
        self._limits: set[asyncio.Timeout] = set()  # of the attempts in progress

    def goes_on(self) -> bool:
        return super().goes_on() and self._loop is the_loop()

    async def attempt(self, n: int, patience_s: float) -> bytes:
        with in_words(self.config, patience_s, *self._errors):
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
        line = self._line()
        try:
            async with line.client.stream("POST", url, headers=headers) as reply:
                gathered = self.gathered(n, headers, reply.status_code, reply.headers)
                async for part in reply.aiter_raw():
                    gathered.feed(part)
        except BaseException as error:
            if self.identity.intact() and not isinstance(error, GeneratorExit):
                await line.wire.close()
            raise
        self.idle.append(line)
        await self._close_surplus()
        return gathered.ids()

    def _line(self) -> _Line:
        """Return a client for one call.

        Its network is ``_Network``, also for the proxies of the environment. Its pools have no
        lock: after an exception in the middle of one, the driver would wait for it. The driver has
        no public option for either. A driver with other internals works without.
        """
        with suppress(IndexError):
            return self.idle.pop()
        wire = _Wire()
        client = self._driver.AsyncClient(verify=self._trusted, timeout=None)
        with suppress(AttributeError):
            for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
                if transport is not None:
                    pool = transport._pool  # noqa: SLF001
                    pool._network_backend = _Network(wire, pool._network_backend)  # noqa: SLF001
                    pool._optional_thread_lock = nullcontext()  # noqa: SLF001
        return _Line(client, wire)

    async def _close_surplus(self) -> None:
        while (line := self.surplus()) is not None:
            await line.wire.close()


class AsyncService(AsyncServed[_Life]):
    """Unique IDs of a service, by ``await``. Made by ``frazil.aio.open``.

    Tasks may share it. The errors are those of ``ServiceGenerator``.
    """

    _life_of = _Life
