"""The generator of ``http://`` for threads: a service makes each ID, or batch of IDs.

With ``?prefetch=N``, single IDs come from a buffer of up to N (see ``prefetch``).

It uses ``http.client``, which has no lock that an interrupted call could leave locked. The timeout
of a socket limits each read, so a reply that arrives byte by byte would never end. So ``_Reads``
limits them by the end of the attempt.
"""

import io
import select
import ssl
from base64 import b64encode
from http.client import HTTPConnection, HTTPException, HTTPResponse
from socket import socket
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from frazil.errors import ConfigError
from frazil.inputs.url import host_port
from frazil.remote.base import Served
from frazil.remote.http.calls import ServiceCalls
from frazil.remote.http.config import ServiceConfig
from frazil.remote.http.reply import in_words
from frazil.system.clock import boot_s
from frazil.system.sockets import cut_in_children

_KEPT_S = 5.0  # a balancer may forget a connection that is idle for longer
_PART = 1 << 16
_ERRORS = (OSError, HTTPException, UnicodeError)


class _Reads(io.RawIOBase):
    """The replies of a connection: each read ends when the attempt does."""

    def __init__(self, connected: socket, until_s: float) -> None:
        self._socket = connected
        self._file = connected.makefile("rb", buffering=0)
        self._until_s = until_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(_left_s(self._until_s))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Socket:
    """A connected socket as ``http.client`` uses it, for one attempt at a time."""

    def __init__(self, connected: socket, line: "_Line") -> None:
        self.connected = connected
        self._line = line

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self.connected, self._line.until_s))

    def sendall(self, data: bytes) -> None:
        self.connected.settimeout(_left_s(self._line.until_s))
        self.connected.sendall(data)

    def close(self) -> None:
        self.connected.close()


class _Line(HTTPConnection):
    """A connection, for one call at a time. until_s: the end of the attempt that uses it.

    ``close`` takes no lock, and ends neither the connection of a parent nor TLS.
    """

    def __init__(self, life: "_Life") -> None:
        self.sock: Any
        self._life = life
        self._proxy = _proxy(life.scheme, life.netloc)
        self.until_s = self._used_s = 0.0
        super().__init__(*(self._proxy[0] if self._proxy else life.place))
        if self._proxy and life.tls:
            self.set_tunnel(*life.place, headers=self._proxy[1])

    def connect(self) -> None:
        """Connect. A child that is forked during it raises Closed."""
        self.timeout = _left_s(self.until_s)
        super().connect()
        cut_in_children(self, self.sock)
        self._life.check()
        if self._life.tls:
            self.sock = self._life.tls.wrap_socket(self.sock, server_hostname=self._life.place[0])
            cut_in_children(self, self.sock)
        self.sock = _Socket(self.sock, self)

    def ask(self, url: str, headers: dict[str, str]) -> HTTPResponse:
        """Send a request for IDs, and return the reply."""
        if self._proxy and not self._life.tls:
            self.request("POST", url, headers=headers | self._proxy[1])
        else:
            self.request("POST", url.removeprefix(self._life.origin), headers=headers)
        return self.getresponse()

    def rests(self) -> Self:
        """Return it after its attempt has read the whole reply."""
        self._used_s = boot_s()
        return self

    def is_alive(self) -> bool:
        """Return whether it can be used again, as far as this host knows."""
        if self.sock is None:  # closed after a reply, as the service wanted: it connects again
            return True
        return boot_s() - self._used_s < _KEPT_S and not _is_readable(self.sock.connected)


class _Life(ServiceCalls[_Line]):
    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self.scheme, _, rest = config.base.partition("://")
        self.netloc = rest.partition("/")[0]
        self.origin = f"{self.scheme}://{self.netloc}"
        self.tls = ssl.create_default_context() if self.scheme == "https" else None
        self.place = host_port(self.netloc, 443 if self.tls else 80) or ("", 0)

    def attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self.config.asking(n)
        line = self._line()
        try:
            line.until_s = boot_s() + patience_s
            with in_words(self.config, patience_s, *_ERRORS):
                reply = line.ask(url, headers)
                gathered = self.gathered(n, headers, reply.status, reply.headers)
                while part := reply.read(_PART):
                    gathered.feed(part)
        except BaseException:
            line.close()
            raise
        self.idle.append(line.rests())
        self._close_surplus()
        return gathered.ids()

    def _line(self) -> _Line:
        """Return a connection that can be used, or a new one."""
        while True:
            try:
                line = self.idle.pop()
            except IndexError:
                return _Line(self)
            if line.is_alive():
                return line
            line.close()

    def hang_up(self) -> None:
        self.closed = True
        self._close_surplus()

    def _close_surplus(self) -> None:
        while (line := self.surplus()) is not None:
            line.close()


class ServiceGenerator(Served[_Life]):
    """Unique IDs of a service: call it, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` holds its settings. A call
    that gets no ID in time raises RegistryUnavailable or PoolExhausted, with the reason of each
    attempt. An error that a retry does not change is a ConfigError.
    """

    _life_of = _Life

    def __del__(self) -> None:
        if not self.__dict__.get("_closed", True):
            self.close()


def _left_s(until_s: float) -> float:
    """Return the time that is left. Raises TimeoutError if there is none."""
    left_s = until_s - boot_s()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _is_readable(connected: socket) -> bool:
    """Return whether a socket has something to read, or was closed by the other side."""
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([connected], [], [], 0)[0])
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


def _proxy(scheme: str, netloc: str) -> tuple[tuple[str, int], dict[str, str]] | None:
    """Return the proxy that the environment names for a service, and what it is sent, or None."""
    found = getproxies()
    text = found.get(scheme) or found.get("all")
    if not text or proxy_bypass(netloc):
        return None
    proxy = urlsplit(text if "://" in text else f"http://{text}")
    place = host_port(proxy.netloc.rpartition("@")[2], 80)
    if proxy.scheme != "http" or place is None:
        raise ConfigError(
            f"the environment names a proxy of the kind {proxy.scheme}://; use one of http://, or "
            "add the service's host to NO_PROXY"
        )
    if proxy.username is None:
        return place, {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return place, {"Proxy-Authorization": f"Basic {b64encode(user.encode()).decode()}"}
