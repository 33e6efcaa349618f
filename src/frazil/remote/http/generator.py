"""What users of ``http://`` hold: each ID, or batch of IDs, is asked of a service.

With ``?prefetch=N`` single IDs come out of a buffer of up to N (see ``prefetch``).

The driver's time limit is one for each read, so a reply of which a byte comes now and then would
never end. So its connections go through a ``_Network``, which knows when the attempt is over.
"""

from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from frazil.inputs.arguments import check_count
from frazil.remote.base import Served
from frazil.remote.http import wire_ids
from frazil.remote.http.calls import ServiceCalls, the_driver
from frazil.remote.http.config import ServiceConfig
from frazil.system.clock import boot_s
from frazil.system.steps import run

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ServiceGenerator", "the_driver"]

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


class _Life(ServiceCalls):
    """What one process has of a generator for threads."""

    def __init__(self, config: ServiceConfig) -> None:
        super().__init__(config)
        self._client = _client()

    def attempt(self, n: int, patience_s: float) -> bytes:
        """See ServiceCalls."""
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
        """See Life."""
        self.closed = True
        self._client.close()


class ServiceGenerator(Served[_Life]):
    """Unique IDs of a service: call it, or take many. Made by ``frazil.open``.

    Threads may share it. ``scheme`` reads and writes its IDs; ``config`` is what it was opened
    with. Every method that answers IDs raises RegistryUnavailable or PoolExhausted, with the
    reason of every attempt, when nothing could be had in time, and ConfigError for what waiting
    does not change.
    """

    _config: ServiceConfig

    def array(self, n: int) -> "NDArray[np.uint64]":
        """The next ``n`` IDs as a numpy array of uint64.

        IDs wider than 64 bits come as a structured array with the fields ``hi`` and ``lo``. Raises
        ConfigError where numpy is not installed.
        """
        from frazil.schemes.arrays import WIDE

        count = check_count(n)

        def gather(life: _Life) -> "NDArray[Any]":
            rows = wire_ids.words(b"".join(run(life.bodies(count))), self._config.width)
            return (rows.view(WIDE) if self.scheme.bits > 64 else rows).reshape(-1)

        return self._own(gather)

    def _begin(self) -> _Life:
        return _Life(self._config)

    def __del__(self) -> None:
        if not self.__dict__.get("_closed", True):
            self.close()
