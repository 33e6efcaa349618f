"""Stores of a test's own: in memory, an etcd, a Redis and a Valkey with a caller of the script."""

import pytest

from frazil.registries.memory import MemoryRegistry
from tests.servers.etcd import etcd
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server


@pytest.fixture
def url(request):
    """A memory registry of this test's own, which says that it is new."""
    return f"memory:{request.node.name}"


@pytest.fixture
def lost(monkeypatch):
    """A first use of ``memory:`` waits as elsewhere, as if another process could have been it."""
    monkeypatch.setattr(MemoryRegistry, "lives_longer", True)


@pytest.fixture(scope="module", params=FLAVOURS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture
def caller(server):
    caller = Caller(server)
    caller.client.flushall()
    caller.init()
    return caller


@pytest.fixture(scope="module")
def service(request, tmp_path_factory):
    """A service with the configuration ``CONFIG`` of the test's module."""
    from tests.unit.service.conftest import Service  # which needs a package

    with Service(tmp_path_factory.mktemp("service"), request.module.CONFIG) as service:
        yield service


@pytest.fixture(scope="module")
def cluster():
    """An etcd of one member."""
    with etcd(1) as running:
        yield running
