"""URLs of stores, servers and services. They are parsed, and nothing is contacted.

The standard library reads ports and hosts a second time, and the text that is shown must not
contain a password.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

import frazil
from evidence.fuzz.accepted import accepted
from frazil.generator.request import make_request
from frazil.registries import connect
from frazil.registries.etcd.registry import EtcdRegistry
from frazil.registries.partitioned import PartitionedRegistry
from frazil.registries.postgres.registry import PostgresRegistry
from frazil.registries.redis.registry import RedisRegistry
from frazil.registries.sqlite.registry import SqliteRegistry
from frazil.remote.http.config import configure_service
from frazil.remote.icicle.calls import configure_icicle

__all__ = ["check_url"]

_SCHEME = frazil.scheme()
_SERVERS = ("redis", "rediss", "valkey", "valkeys", "etcd", "etcds", "icicle", "icicles")
_PORTS = {"etcd": 2379, "etcds": 2379}
_SECRET = 6  # characters; a shorter one may occur by chance


def check_url(text: str) -> None:
    """A URL is refused, or names possible places and shows no password."""
    kind = text.partition(":")[0]
    if kind in ("http", "https"):
        service = accepted(lambda: configure_service(make_request(text)))
        if service is not None:
            assert urlsplit(service.base).port != 0
            assert "@" not in urlsplit(service.base).netloc
            assert 0 <= service.prefetch <= 100_000
        return
    if kind in ("icicle", "icicles"):
        pool = accepted(lambda: configure_icicle(make_request(text)))
        if pool is not None:
            _check_places(text, [place for one in pool.accesses for place in one.places], pool.name)
            assert len(set(pool.shards)) == len(pool.shards)
            assert all(0 <= shard <= 1023 for shard in pool.shards)
        return
    registry = accepted(connect, text, "default", _SCHEME)
    if registry is not None:
        _check_places(text, _places(registry), registry.url)
        assert registry.terms.slots[0] >= 0
        if isinstance(registry, SqliteRegistry):
            assert "\0" not in str(registry.path), "no file has such a name"


def _places(registry: Any) -> list[Any]:
    if isinstance(registry, PartitionedRegistry):
        return [place for part in registry.parts for place in _places(part)]
    if isinstance(registry, RedisRegistry):
        return list(registry.link.access.places)
    if isinstance(registry, EtcdRegistry):
        return list(registry._endpoints)  # noqa: SLF001 - it is not public
    if isinstance(registry, PostgresRegistry):
        with registry._links.taken() as link:  # noqa: SLF001 - the same
            assert "\0" not in link.conninfo
    return []


def _check_places(text: str, places: list[Any], shown: str) -> None:
    parts = urlsplit(text)
    assert not parts.fragment, "a part of the URL is left out"
    who, _, hosts = parts.netloc.rpartition("@")
    password = unquote(who.partition(":")[2])
    if len(password) >= _SECRET and password != "*" * len(password):
        assert password not in shown, "the password is shown"
    if parts.scheme in _SERVERS:
        expected = [_host(each, _PORTS.get(parts.scheme, 6379)) for each in hosts.split(",")]
        # etcd members are tried in random order.
        assert sorted(places) == sorted(expected)
        assert parts.path.strip("/") == "" or not parts.scheme.startswith("etcd")
        assert all(1 <= port <= 65535 for _, port in places)


def _host(text: str, port: int) -> tuple[str, int]:
    bare = urlsplit(f"//{text}")
    host = text.rpartition("]")[0] + "]" if "]" in text else text.partition(":")[0]
    assert host.strip("[]").lower() == (bare.hostname or ""), "hosts are split differently"
    return host.strip("[]") or "localhost", port if bare.port is None else bare.port
