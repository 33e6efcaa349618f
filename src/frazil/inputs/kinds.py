"""The kinds of URLs: for each, where IDs are made, and what opens it.

The table holds names, not modules, so importing frazil imports no driver. Other packages add kinds
of registries by an entry point of the group ``frazil.registries``: its name is the kind, and its
value is the home. Entry points are read only for a kind that the table lacks, so they cannot
replace one of the table.
"""

from functools import cache
from typing import Any, NamedTuple

from frazil.errors import ConfigError
from frazil.system.imports import load

GROUP = "frazil.registries"  # the group of entry points of packages that bring a registry


class Kind(NamedTuple):
    """A kind of URL.

    family: the name that stands for all kinds of the same store, like ``redis`` for ``valkeys``.
    maker: ``"registry"`` for a store of claims, where a generator in this process makes the IDs;
    else what makes them, ``"icicle"`` or ``"service"``.
    home: ``module:name`` of a registry's callable, which takes a Url, a namespace and a Scheme and
    returns a ``frazil.registries.base.Registry``. Else a module with ``open_generator(request)``
    and ``open_async_generator(request)``.
    horizon_us: the horizon of a URL without ``?horizon=``.
    """

    family: str
    maker: str
    home: str
    horizon_us: int = 5_000_000

    def load(self) -> Any:
        """Import the home. Raises ImportError if its driver is missing; see ``imports.load``."""
        return load(self.home)


def _registry(family: str, home: str, *others: str, horizon_us: int = 5_000_000) -> dict[str, Kind]:
    kind = Kind(family, "registry", f"frazil.registries.{home}", horizon_us)
    return dict.fromkeys((family, *others), kind)


KINDS: dict[str, Kind] = {
    **_registry("memory", "memory:MemoryRegistry", horizon_us=1_000_000),
    **_registry("sqlite", "sqlite.registry:SqliteRegistry", horizon_us=1_000_000),
    **_registry("static", "static:connect_static", horizon_us=1_000_000),
    **_registry("postgresql", "postgres.registry:PostgresRegistry", "postgres"),
    **_registry("mysql", "mysql.registry:MysqlRegistry", "mysqls", "mariadb", "mariadbs"),
    **_registry("zookeeper", "zookeeper.registry:ZookeeperRegistry", "zookeepers"),
    **_registry("etcd", "etcd.registry:EtcdRegistry", "etcds"),
    **_registry("redis", "redis.registry:connect_redis", "rediss", "valkey", "valkeys", "unix"),
    **dict.fromkeys(
        ("icicle", "icicles"), Kind("icicle", "icicle", "frazil.remote.icicle.generator")
    ),
    **dict.fromkeys(("http", "https"), Kind("http", "service", "frazil.remote.http.generator")),
}
"""The kinds of frazil, by the part of the URL before its colon."""

GIVEN = Kind("", "registry", "")
"""The kind of a registry that was passed as an object (``open(registry=)``), and has no URL."""


def kind_of(name: str) -> Kind | None:
    """The kind of that name, of frazil or of an installed package; None if there is none."""
    return KINDS.get(name) or _installed().get(name)


def kinds() -> list[str]:
    """The names of all kinds, those of installed packages last."""
    return list(KINDS | _installed())


@cache  # it reads the metadata of every package
def _installed() -> dict[str, Kind]:
    """The kinds of installed packages. Raises ConfigError for two packages with one kind."""
    from importlib.metadata import entry_points  # slow to load

    found: dict[str, Kind] = {}
    for point in entry_points(group=GROUP):
        kind = Kind(point.name, "registry", point.value)
        if found.setdefault(point.name, kind) != kind:
            raise ConfigError(
                f"two installed packages have a registry {point.name}: ({found[point.name].home} "
                f"and {point.value}); uninstall one",
                kind=point.name,
            )
    return found
