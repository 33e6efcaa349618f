"""Registries: where claims are kept, chosen by URL.

A table of strings names the module of each kind, so that importing frazil imports no driver.
"""

from importlib import import_module

from frazil.errors import ConfigError
from frazil.inputs.masking import masked
from frazil.registries.base import Registry
from frazil.schemes.scheme import Scheme

__all__ = ["BACKENDS", "connect"]

_ELSEWHERE = ("icicle", "icicles", "http", "https")  # frazil.opening knows these

BACKENDS = {
    "memory": "frazil.registries.memory:MemoryRegistry",
    "sqlite": "frazil.registries.sqlite.registry:SqliteRegistry",
    "static": "frazil.registries.static:connect_static",
    "postgresql": "frazil.registries.postgres.registry:PostgresRegistry",
    "postgres": "frazil.registries.postgres.registry:PostgresRegistry",
    "etcd": "frazil.registries.etcd.registry:EtcdRegistry",
    "etcds": "frazil.registries.etcd.registry:EtcdRegistry",
    "redis": "frazil.registries.redis.registry:connect_redis",
    "rediss": "frazil.registries.redis.registry:connect_redis",
    "valkey": "frazil.registries.redis.registry:connect_redis",
    "valkeys": "frazil.registries.redis.registry:connect_redis",
    "unix": "frazil.registries.redis.registry:connect_redis",
}


def connect(url: str, namespace: str, scheme: Scheme) -> Registry:
    """The registry at a URL, for one namespace and scheme; nothing is contacted yet.

    Raises ConfigError for a URL that is none, and for options that its backend does not know.
    """
    kind, colon, _ = url.partition(":")
    if colon and kind in _ELSEWHERE:
        raise ConfigError(
            f"{kind}: makes IDs and keeps no claims; name the registry here, like redis://host",
            url=masked(url),
        )
    if not colon or kind not in BACKENDS:
        from difflib import get_close_matches  # only where a person waits for the hint

        kinds = (*BACKENDS, *_ELSEWHERE)
        near = get_close_matches(kind, kinds, 1)
        hint = f"did you mean {near[0]}: ?" if near else f"known: {', '.join(kinds)}"
        raise ConfigError(f"no registry is called {masked(url)!r}; {hint}", url=masked(url))
    if not namespace or len(namespace) > 200 or not namespace.isprintable():
        raise ConfigError(f"namespace {namespace!r}: 1 to 200 printable characters")
    module, _, name = BACKENDS[kind].partition(":")
    backend = getattr(import_module(module), name)
    registry: Registry = backend(url, namespace, scheme)
    return registry
