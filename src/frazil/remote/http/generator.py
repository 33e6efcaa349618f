"""The generator of ``http://`` for threads: a service makes each ID, or batch of IDs.

With ``?prefetch=N``, single IDs come from a buffer of up to N (see ``prefetch``).

The driver limits the time of each read, so a reply that arrives byte by byte would never end. So
``_Timed`` limits its reads by the end of the attempt.
"""

from typing import Any

from frazil.remote.base import Served
from frazil.remote.http.calls import ServiceCalls
from frazil.system.clock import boot_s
from frazil.system.cut_sockets import cut_in_children

__all__ = ["ServiceGenerator"]


class _Wire:
    """The connection of a client. until_s: the end of the attempt that uses it.

    ``close`` takes no lock, and ends neither the connection of a parent nor TLS.
    """

    __slots__ = ("__weakref__", "socket", "until_s")

    def __init__(self) -> None:
        self.socket: Any = None
        self.until_s = 0.0

    def holding(self, stream: Any) -> "_Timed":
        """Return a stream of the driver, limited. The driver has closed the one before."""
        self.socket = stream.get_extra_info("socket")
        cut_in_children(self, self.socket)
        return _Timed(self, stream)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()


class _Timed:
    """The driver's network, or a connection: its reads end when the attempt does."""

    def __init__(self, wire: _Wire, inner: Any) -> None:
        self._wire = wire
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *where: Any, **options: Any) -> "_Timed":
        return self._wire.holding(self._inner.connect_tcp(*where, **options))

    def start_tls(self, *how: Any, **options: Any) -> "_Timed":
        return self._wire.holding(self._inner.start_tls(*how, **options))

    def read(self, max_bytes: int, **_limit: Any) -> bytes:
        left_s = self._wire.until_s - boot_s()
        if left_s <= 0:
            raise TimeoutError
        part: bytes = self._inner.read(max_bytes, left_s)
        return part


class _Life(ServiceCalls):
    _kind, _wire, _network = "Client", _Wire, _Timed

    def attempt(self, n: int, patience_s: float) -> bytes:
        url, headers = self.config.asking(n)
        line = self.line()
        try:
            line.wire.until_s = boot_s() + patience_s
            with (
                self.in_words(patience_s),
                line.client.stream("POST", url, headers=headers, timeout=patience_s) as reply,
            ):
                gathered = self.gathered(n, headers, reply)
                for part in reply.iter_raw():
                    gathered.feed(part)
        except BaseException:
            line.wire.close()
            raise
        self.idle.append(line)
        self._close_surplus()
        return gathered.ids()

    def hang_up(self) -> None:
        self.closed = True
        self._close_surplus()

    def _close_surplus(self) -> None:
        while (line := self.surplus()) is not None:
            line.wire.close()


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
