"""Accepts the connections of a listening socket, one in each iteration of the event loop.

asyncio accepts as many as wait, so one of several workers would get all connections of a client's
pool. It gives a TLS handshake a minute, and if no file descriptor is left, it logs a traceback for
each attempt. Here a handshake has the time of any request, at most a thousand run at once, and
without a descriptor the next attempt is made a moment later.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable

from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.service import logs

_HANDSHAKES_MOST = 1_000
_RETRY_S = 0.1
_RECEIVED = 65_536  # bytes of a client that the kernel keeps: the longest body
_UNSENT = 65_536  # bytes for a client that does not read


class Turns:
    """What the connections that used up their time do next: one of them in each iteration."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()

    def add(self, step: Callable[[], None]) -> None:
        """Run a step when those that were added before it have run."""
        self._waiting.append(step)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        step = self._waiting.popleft()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._next)
        step()


class Acceptor:
    """Passes each connection to a protocol that ``make`` returns."""

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext | None,
        handshake_s: float,
    ) -> None:
        self._tls = tls
        self._listener = listener
        self._make = make
        self._handshake_s = handshake_s
        self._connecting: dict[asyncio.Task[None], None] = {}
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        listener.settimeout(0)
        self._start()

    def _start(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def reload(self, tls: ssl.SSLContext | None) -> None:
        """Use another certificate for new connections. Whether TLS is used stays as it was."""
        if (tls is None) == (self._tls is None):
            self._tls = tls

    def stop(self) -> None:
        """Accept no more connections. The socket stays open."""
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listener)

    async def close(self) -> None:
        """Accept all connections that wait at the socket, and close it."""
        self.stop()
        while self._accept():
            pass
        self._listener.close()  # at once, since a connection that comes in between is reset
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _accept(self) -> bool:
        """Accept a connection; return whether one waited."""
        try:
            connection = self._listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:  # no file descriptor, or no memory
            logs.rarely("connections wait", why=error.strerror)
            self.stop()
            self._retry = self._loop.call_later(_RETRY_S, self._start)
            return False
        connection.settimeout(0)
        if len(self._connecting) >= _HANDSHAKES_MOST:
            next(iter(self._connecting)).cancel()
        task = self._loop.create_task(self._connect(connection))
        self._connecting[task] = None
        task.add_done_callback(self._connecting.pop)
        return True

    async def _connect(self, connection: socket.socket) -> None:
        limit_s = None if self._tls is None else self._handshake_s
        try:
            await self._loop.connect_accepted_socket(
                self._make, connection, ssl=self._tls, ssl_handshake_timeout=limit_s
            )
        except BaseException as error:
            connection.close()
            if not isinstance(error, OSError):  # the client has disconnected, or is no TLS one
                raise


def listen(host: str, port: int, another: str = "port for Redis (--resp)") -> socket.socket:
    """Return a listening socket. Raises ConfigError, which says to choose ``another``."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise ConfigError(
            f"{masked(host)}:{port}: {error.strerror or error}; choose another {another}",
            host=host,
            port=port,
        ) from None
    return prepared(listener)


def prepared(listener: socket.socket) -> socket.socket:
    """Set what the connections of a listening socket inherit."""
    # asyncio sets it only on sockets that name their protocol, and the second packet of a reply
    # would wait up to 40 ms for the acknowledgement of the first.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
    return listener
