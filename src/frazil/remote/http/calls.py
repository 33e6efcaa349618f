"""A call on a service, without I/O: requests, retries, and the meaning of replies.

There is no claim to give back: a process that dies or forks loses only the IDs that it requested.

A client of the driver has locks and a limited number of connections. A signal handler that raises
an exception leaves a lock locked, and a cancelled task leaves a connection in use. So a client is
used by one call at a time, and is closed if the call does not read a whole reply. The clients that
no call uses are ``idle``; taking one from a deque and putting one back are atomic.
"""

import ssl
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.errors import FrazilError
from frazil.generator.complaints import closed
from frazil.remote.base import Life
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered, in_words
from frazil.system.clock import boot_s
from frazil.system.extras import missing_extra
from frazil.system.imports import load
from frazil.system.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STEP", "ServiceCalls", "the_driver"]

STEP = 100_000
"""The most IDs in one request. They are skipped together if the reply is lost."""

_MOST_IDLE = 20  # as many unused connections as the driver keeps
_FOR_A_CALL = ("certifi", "encodings.idna", "encodings.punycode", "httpcore")
_FOR_A_LOOP = (
    "anyio._backends._asyncio",
    "anyio.abc",
    "anyio.lowlevel",
    "anyio.streams.tls",
    "anyio.to_thread",
    "concurrent.futures.thread",
)


def the_driver(*, awaited: bool = False) -> Any:
    """Return httpx. Raises ConfigError if it is not installed.

    This also imports what the first call would import, and makes OpenSSL start. A fork during
    either in another thread would leave the child with one that never ends.
    """
    try:
        httpx = load("httpx")
    except ImportError as error:
        raise missing_extra("a service needs httpx", "http", error) from None
    for name in (*_FOR_A_CALL, *_FOR_A_LOOP * awaited):
        with suppress(ImportError):  # a driver with other internals
            load(name)
    _no_tls()
    return httpx


def _no_tls() -> ssl.SSLContext:
    """Return a TLS context without certificates, for clients that do not use TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(slots=True)
class Line:
    """A client of the driver, for one call at a time. wire: closes its connection."""

    client: Any
    wire: Any


class ServiceCalls(Life):
    """The life of a generator in one process. idle: the clients that no call uses."""

    _kind: str  # the driver's class of clients
    _wire: Callable[[], Any]
    _network: Callable[[Any, Any], Any]  # from a wire and the network of the driver

    attempt: Callable[[int, float], Any]
    """Request a number of IDs within a number of seconds; return them packed."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config.prefetch, config.name, config.namespace)
        self.config = config
        self.closed = False
        self.idle: deque[Line] = deque()
        self._driver = the_driver()
        tls = config.base.startswith("https:")  # it is slow to make, so clients share it
        self._trusted = self._driver.create_ssl_context() if tls else _no_tls()

    def check(self) -> None:
        """See Life. Raises Closed also after ``close``."""
        super().check()
        if self.closed:
            raise closed()

    def line(self) -> Line:
        """Return a client for one call.

        Its network is ``_network``, also for the proxies of the environment. Its pools have no
        lock: after an exception in the middle of one, the driver would wait for it. The driver has
        no public option for either. A driver with other internals works without.
        """
        try:
            return self.idle.pop()
        except IndexError:
            wire = self._wire()
        client = getattr(self._driver, self._kind)(verify=self._trusted, timeout=None)
        with suppress(AttributeError):
            for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
                if transport is not None:
                    pool = transport._pool  # noqa: SLF001
                    network = self._network(wire, pool._network_backend)  # noqa: SLF001
                    pool._network_backend = network  # noqa: SLF001
                    pool._optional_thread_lock = nullcontext()  # noqa: SLF001
        return Line(client, wire)

    def surplus(self) -> Line | None:
        """Take an idle client that has to be closed, or None if there is none."""
        with suppress(IndexError):
            if self.closed or len(self.idle) > _MOST_IDLE:
                return self.idle.popleft()
        return None

    def ids(self, count: int) -> Steps[list[int]]:
        """See Life."""
        bodies = yield from self.bodies(count)
        return [n for body in bodies for n in wire_ids.ints(body, self.config.width)]

    def array(self, count: int) -> "Steps[NDArray[Any]]":
        """See Life."""
        arrays = load("frazil.schemes.arrays")
        body = b"".join((yield from self.bodies(count)))
        words = wire_ids.words(body, self.config.width)
        row: NDArray[Any] = words.view(arrays.WIDE) if self.config.width > 8 else words
        return row.reshape(-1)

    def bodies(self, count: int) -> Steps[list[bytes]]:
        """Get ``count`` packed IDs, in steps."""
        bodies: list[bytes] = []
        for done in range(0, count, STEP):
            bodies += [(yield from self._asked(min(count - done, STEP)))]
        return bodies

    def in_words(self, patience_s: float) -> AbstractContextManager[None]:
        """Return the context of an attempt, which translates its errors."""
        return in_words(self.config, patience_s)

    def gathered(self, n: int, headers: Mapping[str, str], reply: Any) -> Gathered:
        """Return the reader of the reply to a request with these headers."""
        return Gathered(self.config, n, headers[NONCE], reply.status_code, reply.headers)

    def _asked(self, n: int) -> Steps[bytes]:
        """Get ``n`` packed IDs, with retries."""
        attempts = AttemptLoop(self.config.name, self.config.request.timeout_us, boot_s)
        while True:
            self.check()
            try:
                body: bytes = yield partial(self.attempt, n, attempts.patience_s())
            except FrazilError as error:
                pause_s = attempts.failed(error)
            else:
                self.issued += n
                return body
            yield pause_s
