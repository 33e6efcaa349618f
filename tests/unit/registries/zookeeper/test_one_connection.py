"""One ZooKeeper session for all registries of a process: its end, losses, forks."""

import gc
import threading
from weakref import ref

import pytest
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from frazil.claims.claim import Claim, Wait
from frazil.errors import RegistryUnavailable
from tests.servers.zookeeper import zookeeper
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.verbs import mint
from tests.tools.waiting import until
from tests.unit.registries.one_connection import open_some

pytestmark = pytest.mark.long  # ZooKeeper comes in no wheel


@pytest.fixture(scope="module")
def server():
    with zookeeper() as running:
        yield running


@pytest.fixture
def wire(server):
    with Proxy(server.port) as wire:
        yield wire


@pytest.fixture
def url(wire):
    return f"zookeeper://127.0.0.1:{wire.port}"


@pytest.fixture
def some(url):
    """Registries of three namespaces."""
    made = open_some(url, 3)
    yield made
    for each in made:
        each.close()


def session_of(registry):
    with registry._links.taken() as link:
        return link._client.client_id[0]


def drivers_threads():
    words = "_thread_worker", "zk_loop"
    return [each.name for each in threading.enumerate() if any(w in each.name for w in words)]


def test_registries_that_were_not_closed_leave_no_session(wire, url):
    made = open_some(url, 2)
    with made[0]._links.taken() as link:
        client = ref(link._client)
    assert len(drivers_threads()) == 3
    del made, link
    until(lambda: wire.connections == 0, "the end of the session")
    until(lambda: not drivers_threads(), "the end of the driver's threads")
    gc.collect()
    assert client() is None


def test_a_session_that_ends_is_replaced_once(some, wire):
    before = wire.opened
    session = session_of(some[0])
    with some[0]._links.taken() as link:
        wire.cut()
        until(lambda: link._client is None, "the end of the session")
    for each in some:
        assert mint(each).seen.revision == 1  # without an error
    assert wire.opened == before + 1
    assert session_of(some[2]) != session


def test_a_session_that_ends_during_a_verb_is_replaced(some, wire):
    with some[0]._links.taken() as link:
        pass
    with some[0].step() as (record, _):
        wire.cut()
        until(lambda: link._client is None, "the end of the session")
        record.revision += 1  # it is written in another session
    assert [mint(each).seen.revision for each in some] == [2, 1, 1]


def test_the_size_of_a_node_is_not_told_of_another_one(some, wire):
    with some[0]._links.taken() as link:
        version = link.read(some[0].namespace).version
        link.write(some[0].namespace, bytes(200_000), version)
    with wire.refusing(), pytest.raises(RegistryUnavailable) as caught:
        mint(some[1])
    assert "bytes" not in str(caught.value)


def test_a_child_inside_its_parents_step_cannot_write(some, wire):
    registry = some[0]
    with registry._links.taken() as link:
        client, path = link._client, link._path(registry.namespace)

    def writes():
        with pytest.raises((KazooException, KazooTimeoutError)):
            client.set_async(path, b"x").get(timeout=2)
        return True

    with registry.step() as (record, _):  # in the same session
        record.revision += 1
        assert child(writes) == 0
        assert len(descriptors_to(wire.port)) == 1
        assert child(lambda: not descriptors_to(wire.port)) == 0
    assert isinstance(mint(registry), Claim | Wait)
