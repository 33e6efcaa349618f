"""What users of ``http://`` hold: each ID, or batch of IDs, is asked of a service.

There is no claim, so there is nothing to give back, and a process that dies or forks loses nothing
but what it had asked for. What belongs to one process, connections and a buffer of prefetched IDs
(``?prefetch=N``, see ``prefetch``), is one ``_Life``; a child finds its parent's unusable (see
``machine``) and begins its own. A reply that came to two processes, since a fork happened while it
was under way, is the parent's.

The driver's time limit is one for each read, so a reply of which a byte comes now and then would
never end. So its connections go through a ``_Network``, which knows when the attempt is over.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigError, FrazilError
from frazil.inputs.arguments import check_count
from frazil.remote.base import Life, Served
from frazil.remote.http import wire_ids
from frazil.remote.http.attempts import AttemptLoop
from frazil.remote.http.config import NONCE, ServiceConfig
from frazil.remote.http.reply import Gathered, in_words
from frazil.remote.prefetch import Prefetch
from frazil.system.clock import boot_s

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["STEP", "ServiceGenerator", "the_driver"]

STEP = 100_000
"""IDs asked for at once: enough for speed, and lost together when their reply is."""


def the_driver() -> Any:
    """httpx; ConfigError where it is not installed."""
    try:
        import httpx
    except ImportError:
        raise ConfigError('a service is asked with httpx: pip install "frazil[http]"') from None
    return httpx


_until_s: ContextVar[float] = ContextVar("_until_s")  # when the attempt that is made is over


class _Stream:
    """A connection of the driver's whose reads are over when the attempt is."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def read(self, max_bytes: int, **_limit: Any) -> bytes:
        left_s = _until_s.get() - boot_s()
        if left_s <= 0:
            raise TimeoutError
        part: bytes = self._stream.read(max_bytes, left_s)
        return part

    def start_tls(self, *how: Any, **more: Any) -> "_Stream":
        return _Stream(self._stream.start_tls(*how, **more))


class _Network:
    """Where the driver gets its connections from: ``_Stream`` each."""

    def __init__(self, network: Any) -> None:
        self._network = network

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def connect_tcp(self, *where: Any, **more: Any) -> _Stream:
        return _Stream(self._network.connect_tcp(*where, **more))


def _client() -> "httpx.Client":
    """A client of the driver's on a ``_Network``, also on the way to the environment's proxies.

    The driver has no public place for it. One that is built otherwise works without.
    """
    client: httpx.Client = the_driver().Client(timeout=None)
    inside: Any = client
    with suppress(AttributeError):
        for transport in (inside._transport, *inside._mounts.values()):  # noqa: SLF001
            if transport is not None:
                pool = transport._pool  # noqa: SLF001
                pool._network_backend = _Network(pool._network_backend)  # noqa: SLF001
    return client


class _Life(Life):
    """What one process has of a generator."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__()
        self.closed = False
        self.prefetch = Prefetch(config.prefetch, self.ids)
        self.client = _client()
        self._config = config

    def hang_up(self) -> None:
        """Ask for nothing more."""
        self.closed = True
        self.prefetch.buffer.clear()
        self.client.close()

    def ids(self, count: int) -> Iterator[int]:
        """``count`` IDs, one by one."""
        for body in self.bodies(count):
            yield from wire_ids.ints(body, self._config.width)

    def bodies(self, count: int) -> Iterator[bytes]:
        """``count`` IDs, packed, in steps."""
        for done in range(0, count, STEP):
            yield self._asked(min(count - done, STEP))

    def _asked(self, n: int) -> bytes:
        """``n`` IDs, packed: asks until it has them, or there is no use in it."""
        turn = AttemptLoop(self._config.name, self._config.request.timeout_us, boot_s)
        while True:
            self.check()
            try:
                return self._attempt(n, turn.patience_s())
            except FrazilError as error:
                time.sleep(turn.failed(error))

    def _attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self._config.asking(n)
        _until_s.set(boot_s() + patience_s)
        with (
            in_words(self._config, patience_s, lambda: self.closed),
            self.client.stream("POST", url, headers=headers, timeout=patience_s) as reply,
        ):
            gathered = Gathered(self._config, n, headers[NONCE], reply.status_code, reply.headers)
            for part in reply.iter_raw():
                gathered.feed(part)
            return gathered.ids()


def _next(life: _Life) -> int | None:
    return life.prefetch.next()


class ServiceGenerator(Served[_Life]):
    """Unique IDs of a service: call it, iterate, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with the
    reason of every attempt, when nothing could be had in time, and ConfigError for what waiting
    does not change.
    """

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__()
        self.config = config
        self.scheme = config.scheme

    def __call__(self) -> int:
        """The next ID."""
        if self.config.prefetch:
            n = self._own(_next)
            if n is not None:
                return n
        return self.take(1)[0]

    def take(self, n: int) -> list[int]:
        """The next ``n`` IDs, in order."""
        count = check_count(n)
        return self._own(lambda life: list(life.ids(count)))

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64.

        IDs wider than 64 bits come as a structured array with the fields ``hi`` and ``lo``. Raises
        ConfigError where numpy is not installed.
        """
        try:
            import numpy as np
        except ImportError:
            raise ConfigError('arrays need numpy: pip install "frazil[numpy]"') from None
        count = check_count(n)

        def gather(life: _Life) -> "NDArray[Any]":
            rows = wire_ids.words(b"".join(life.bodies(count)), self.config.width)
            if self.scheme.bits > 64:
                rows = rows.view(np.dtype([("hi", "<u8"), ("lo", "<u8")]))
            return rows.reshape(-1)

        return self._own(gather)

    def close(self) -> None:
        """Ask for nothing more, and hang up. Twice is no error."""
        life = self._end()
        if life is not None:
            life.hang_up()

    def _begin(self) -> _Life:
        return _Life(self.config)

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return ServiceGenerator, (self.config,)

    def __repr__(self) -> str:
        config = self.config
        return f"<frazil.Service {config.namespace!r} at {config.base}{' closed' * self.closed}>"
