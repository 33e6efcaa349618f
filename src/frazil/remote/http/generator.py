"""The generator of ``http://`` for threads: a service makes each ID, or batch of IDs.

With ``?prefetch=N``, single IDs come from a buffer of up to N (see ``prefetch``).

It uses ``http.client``, which has no lock that an interrupted call could leave locked. One deadline
limits a whole attempt (see ``frazil.system.sockets``). A signal handler that raises an exception
leaves a connection in use. So a connection serves one call at a time, and is closed if the call
does not read a whole reply. Those that no call uses are ``idle``; taking one from a deque and
putting one back are atomic.
"""

import ssl
from collections import deque
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Self

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import OpenRequest
from frazil.inputs.url import host_port
from frazil.remote.base import Served
from frazil.remote.http.calls import ServiceCalls
from frazil.remote.http.config import ServiceConfig, configure_service, proxy_of
from frazil.remote.http.reply import in_words
from frazil.system.clock import boot_s
from frazil.system.imports import load
from frazil.system.sockets import cut_in_children, is_quiet, limited

_MOST_IDLE = 20
_KEPT_S = 5.0  # a balancer may forget a connection that is idle for longer
_PART = 1 << 16
_ERRORS = (OSError, HTTPException, UnicodeError)


class _Line(HTTPConnection):
    """A connection, for one call at a time. ``close`` takes no lock, and does not end TLS."""

    def __init__(self, life: "_Life") -> None:
        self.sock: Any
        self._life = life
        self._proxy = proxy_of(life.config)
        self._used_s = 0.0
        self._wire: Any = None
        super().__init__(*(self._proxy[0] if self._proxy else life.place))
        if self._proxy and life.tls:
            self.set_tunnel(*life.place, headers=self._proxy[1])

    def connect(self) -> None:
        """Connect. A child that is forked during it raises Closed."""
        super().connect()
        cut_in_children(self, self.sock)
        self._life.check()
        if self._life.tls:
            name, wrap = self._life.place[0], self._life.tls.wrap_socket
            self.sock = wrap(self.sock, server_hostname=name, do_handshake_on_connect=False)
            cut_in_children(self, self.sock)
            self.sock.do_handshake()
        self._wire = self.sock

    def fileno(self) -> int:
        """The file descriptor of its socket; -1 if it has none."""
        # http.client forgets the socket before it reads the body of a last reply
        wire = self.sock or self._wire
        return int(wire.fileno()) if wire else -1

    def ask(self, url: str, headers: dict[str, str], patience_s: float) -> HTTPResponse:
        """Send a request for IDs, and return the reply."""
        self.timeout = patience_s
        if self.sock is not None:
            self.sock.settimeout(patience_s)
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
        return boot_s() - self._used_s < _KEPT_S and is_quiet(self.fileno())


class _Life(ServiceCalls):
    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self.idle: deque[_Line] = deque()
        scheme, _, rest = config.base.partition("://")
        netloc = rest.partition("/")[0]
        self.origin = f"{scheme}://{netloc}"
        self.tls = ssl.create_default_context() if scheme == "https" else None
        self.place = host_port(netloc, 443 if self.tls else 80) or ("", 0)

    def attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self.config.asking(n)
        line = self._line()
        try:
            limit = limited(line, boot_s() + patience_s)
            said = in_words(self.config, patience_s, *_ERRORS)
            # A last reply has the socket, which the line has forgotten: both are closed.
            with said, limit, line.ask(url, headers, patience_s) as reply:
                gathered = self.gathered(n, headers, reply.status, reply.headers)
                while part := reply.read(_PART):
                    gathered.feed(part)
                ids = gathered.ids()
        except BaseException:
            line.close()
            raise
        self.idle.append(line.rests())
        self._close_surplus()
        return ids

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
        with suppress(IndexError):
            while self.closed or len(self.idle) > _MOST_IDLE:
                self.idle.popleft().close()


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


def open_generator(request: OpenRequest) -> Generator:
    """Open a generator. Raises ConfigError; contacts nothing."""
    load("encodings.idna")  # the first call would import it: see frazil.system.imports
    return ServiceGenerator(configure_service(request))


def open_async_generator(request: OpenRequest) -> AsyncGenerator:
    """Open a generator for asyncio. If aiohttp is missing, this fails and not the first ID."""
    from frazil.remote.http.async_generator import AsyncService

    return AsyncService(configure_service(request))
