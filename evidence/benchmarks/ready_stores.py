"""The stores of ``evidence.benchmarks.ready``, each on this machine and started as in the tests."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import frazil
from tests.servers.etcd import etcd
from tests.servers.icicle import Caller
from tests.servers.mariadb import mariadb
from tests.servers.postgres import postgres
from tests.servers.redis import Server
from tests.servers.zookeeper import zookeeper
from tests.unit.service.conftest import Service

__all__ = ["STORES", "Store"]

_AHEAD = 1000
_NUMBERS = 64  # more than generators are opened
_CONFIG = '[namespaces.ready]\nregistry = "memory:"\n'


@dataclass(frozen=True)
class Store:
    """How to open the generator of a member.

    url: of a member by its number. port: of the server, if there is one. own: whether the server
    makes the IDs, so that its only namespace is a known one. shared: whether another process gets
    IDs that differ. awaited: whether ``frazil.aio`` opens it too.
    """

    url: Callable[[int], str]
    port: int = 0
    own: bool = False
    shared: bool = True
    awaited: bool = True
    namespace: str = "ready"


def _known(url: str, port: int) -> Store:
    frazil.init(url, namespace="ready", new=True)
    return Store(lambda _: url, port)


@contextmanager
def _memory() -> Iterator[Store]:
    yield Store(lambda _: "memory:ready", shared=False)


@contextmanager
def _static() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(lambda n: f"static:{n}?state={folder}/{n}.db")
        for number in range(_NUMBERS):
            frazil.init(store.url(number), namespace=store.namespace, new=True)
        yield store


@contextmanager
def _sqlite() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        yield _known(f"sqlite://{folder}/claims.db", 0)


@contextmanager
def _redis() -> Iterator[Store]:
    with Server() as server:
        yield _known(server.url, server.port)


@contextmanager
def _postgres() -> Iterator[Store]:
    with postgres() as server:
        yield _known(server.url(), server.port)


@contextmanager
def _mysql() -> Iterator[Store]:
    with mariadb() as server:
        yield _known(server.url(), server.port)


@contextmanager
def _etcd() -> Iterator[Store]:
    with etcd(1) as cluster:
        yield _known(cluster.url, int(cluster.url.rpartition(":")[2]))


@contextmanager
def _zookeeper() -> Iterator[Store]:
    with zookeeper() as server:
        yield _known(server.url(), int(server.url().rpartition(":")[2]))


def _icicle(options: str) -> Callable[[], AbstractContextManager[Store]]:
    @contextmanager
    def running() -> Iterator[Store]:
        with Server() as server:
            Caller(server).init()
            url = f"icicle://127.0.0.1:{server.port}{options}"
            yield Store(lambda _: url, server.port, own=True, awaited=not options, namespace="test")

    return running


def _http(options: str) -> Callable[[], AbstractContextManager[Store]]:
    @contextmanager
    def running() -> Iterator[Store]:
        with tempfile.TemporaryDirectory() as folder, Service(Path(folder), _CONFIG) as service:
            port = int(service.url.rpartition(":")[2])
            url = f"{service.url}/ready{options}"
            yield Store(lambda _: url, port, own=True, awaited=not options, namespace="default")

    return running


STORES: dict[str, Callable[[], AbstractContextManager[Store]]] = {
    "memory": _memory,
    "static": _static,
    "sqlite": _sqlite,
    "redis": _redis,
    "postgres": _postgres,
    "mysql": _mysql,
    "etcd": _etcd,
    "zookeeper": _zookeeper,
    "icicle": _icicle(""),
    "icicle, prefetch": _icicle(f"?prefetch={_AHEAD}"),
    "http": _http(""),
    "http, prefetch": _http(f"?prefetch={_AHEAD}"),
}
