"""The kinds of URLs: for each, where IDs are made, and what opens it.

The table holds names, not modules, so importing frazil imports no driver.
"""

from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """A kind of URL.

    maker: ``"registry"`` for a store of claims, where a generator in this process makes the IDs;
    else what makes them, ``"icicle"`` or ``"service"``.
    home: ``module:name`` of a registry's callable, which takes a Url, a namespace and a Scheme and
    returns a ``frazil.registries.base.Registry``. Else a module with ``open_generator(request)``
    and ``open_async_generator(request)``.
    """

    maker: str
    home: str

    def load(self) -> Any:
        """Import the home. Raises ImportError if its driver is missing."""
        module, _, name = self.home.partition(":")
        found = import_module(module)
        return getattr(found, name) if name else found


def _registry(home: str) -> Kind:
    return Kind("registry", f"frazil.registries.{home}")


_MYSQL = _registry("mysql.registry:MysqlRegistry")
_REDIS = _registry("redis.registry:connect_redis")

KINDS: dict[str, Kind] = {
    "memory": _registry("memory:MemoryRegistry"),
    "sqlite": _registry("sqlite.registry:SqliteRegistry"),
    "static": _registry("static:connect_static"),
    **dict.fromkeys(("postgresql", "postgres"), _registry("postgres.registry:PostgresRegistry")),
    **dict.fromkeys(("mysql", "mysqls", "mariadb", "mariadbs"), _MYSQL),
    **dict.fromkeys(("etcd", "etcds"), _registry("etcd.registry:EtcdRegistry")),
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), _REDIS),
    **dict.fromkeys(("icicle", "icicles"), Kind("icicle", "frazil.remote.icicle.opening")),
    **dict.fromkeys(("http", "https"), Kind("service", "frazil.remote.http.opening")),
}
"""By the part of the URL before its colon. Another package may add a kind here."""
