"""The generator of ``http://`` for threads: a service makes each ID, or batch of IDs.

With ``?prefetch=N``, single IDs come from a buffer of up to N (see ``prefetch``).

The driver limits the time of each read, so a reply that arrives byte by byte would never end. So
``_Timed`` limits its reads by the end of the attempt.
"""

from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from frazil.remote.base import Served
from frazil.remote.http.calls import ServiceCalls, the_driver
from frazil.remote.http.config import ServiceConfig
from frazil.system.clock import boot_s

if TYPE_CHECKING:
    import httpx

__all__ = ["ServiceGenerator"]

_until_s: ContextVar[float] = ContextVar("_until_s")  # the end of the current attempt


class _Timed:
    """The driver's network, or a connection: its reads end when the attempt does."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *where: Any, **options: Any) -> "_Timed":
        return _Timed(self._inner.connect_tcp(*where, **options))

    def start_tls(self, *how: Any, **options: Any) -> "_Timed":
        return _Timed(self._inner.start_tls(*how, **options))

    def read(self, max_bytes: int, **_limit: Any) -> bytes:
        left_s = _until_s.get() - boot_s()
        if left_s <= 0:
            raise TimeoutError
        part: bytes = self._inner.read(max_bytes, left_s)
        return part


def _client() -> "httpx.Client":
    """Return a client whose network is ``_Timed``, also for the proxies of the environment.

    The driver has no public option for it. A driver with other internals works without.
    """
    client: httpx.Client = the_driver().Client(timeout=None)
    inside: Any = client
    with suppress(AttributeError):
        for transport in (inside._transport, *inside._mounts.values()):  # noqa: SLF001
            if transport is not None:
                pool = transport._pool  # noqa: SLF001
                pool._network_backend = _Timed(pool._network_backend)  # noqa: SLF001
    return client


class _Life(ServiceCalls):
    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._client = _client()

    def attempt(self, n: int, patience_s: float) -> bytes:
        _until_s.set(boot_s() + patience_s)
        url, headers = self.config.asking(n)
        with (
            self.in_words(patience_s),
            self._client.stream("POST", url, headers=headers, timeout=patience_s) as reply,
        ):
            gathered = self.gathered(n, headers, reply)
            for part in reply.iter_raw():
                gathered.feed(part)
            return gathered.ids()

    def hang_up(self) -> None:
        self.closed = True
        self._client.close()


class ServiceGenerator(Served[_Life]):
    """Unique IDs of a service: call it, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` holds what it was opened
    with. A call that gets no ID in time raises RegistryUnavailable or PoolExhausted, with the
    reason of each attempt. An error that a retry does not change is a ConfigError.
    """

    _life_of = _Life

    def __del__(self) -> None:
        if not self.__dict__.get("_closed", True):
            self.close()
