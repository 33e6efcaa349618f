"""The kinds of URLs: for each, who makes the IDs, and what opens it.

``open``, ``mint``, ``aio.open``, the command and the service all look here, and nowhere else. The
table holds names, not modules, so importing frazil imports no driver.
"""

from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """What is behind a kind of URL.

    maker: ``"registry"`` for a store of claims, where a generator in this process makes the IDs;
    else who makes them, ``"icicle"`` or ``"service"``.
    home: ``module:name`` of what opens it. For a registry that is called with a Url, a namespace
    and a Scheme, and answers a ``frazil.registries.base.Registry``. Else the module has
    ``open_generator(request)`` and ``open_async_generator(request)``.
    """

    maker: str
    home: str

    def load(self) -> Any:
        """What opens it. Raises ImportError where its driver is missing."""
        module, _, name = self.home.partition(":")
        found = import_module(module)
        return getattr(found, name) if name else found


def _registry(home: str) -> Kind:
    return Kind("registry", f"frazil.registries.{home}")


_REDIS = _registry("redis.registry:connect_redis")
_POSTGRES = _registry("postgres.registry:PostgresRegistry")
_ETCD = _registry("etcd.registry:EtcdRegistry")
_ICICLE = Kind("icicle", "frazil.remote.icicle.opening")
_SERVICE = Kind("service", "frazil.remote.http.opening")

KINDS: dict[str, Kind] = {
    "memory": _registry("memory:MemoryRegistry"),
    "sqlite": _registry("sqlite.registry:SqliteRegistry"),
    "static": _registry("static:connect_static"),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "etcd": _ETCD,
    "etcds": _ETCD,
    "redis": _REDIS,
    "rediss": _REDIS,
    "valkey": _REDIS,
    "valkeys": _REDIS,
    "unix": _REDIS,
    "icicle": _ICICLE,
    "icicles": _ICICLE,
    "http": _SERVICE,
    "https": _SERVICE,
}
"""By the part of the URL before its colon. A package of its own may add a kind here."""
