"""One ZooKeeper session for all registries of a process: its end, losses, forks."""

import gc
import threading
import time
from weakref import ref

import pytest
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

import frazil
from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.errors import RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.servers.zookeeper import zookeeper
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.waiting import until

pytestmark = pytest.mark.long  # ZooKeeper comes in no wheel

ICICLE = frazil.scheme("icicle")


@pytest.fixture(scope="module")
def server():
    with zookeeper() as running:
        yield running


@pytest.fixture
def wire(server):
    with Proxy(server.port) as wire:
        yield wire


def url_of(wire):
    return f"zookeeper://127.0.0.1:{wire.port}"


@pytest.fixture
def some(wire, request):
    """Registries of three namespaces."""
    made = [connect(url_of(wire), f"{request.node.name}-{i}", ICICLE) for i in range(3)]
    for each in made:
        each.initialise(ask_of(LastSeen()), 0)
    yield made
    for each in made:
        each.close()


def mint(registry, ticks=1):
    return registry.mint(ask_of(LastSeen()), ticks)


def session_of(registry):
    with registry._links.taken() as link:
        return link._client.client_id[0]


def drivers_threads():
    words = "_thread_worker", "zk_loop"
    return [each.name for each in threading.enumerate() if any(w in each.name for w in words)]


def new_names(wire, count, request):
    """Namespaces that were set up; the sessions for that have ended."""
    names = [f"{request.node.name}-{i}" for i in range(count)]
    for name in names:
        frazil.init(url_of(wire), namespace=name, new=True)
    until(lambda: wire.connections == 0, "the end of what init opened")
    return names


def test_generators_of_many_namespaces_have_one(wire, request):
    names, before = new_names(wire, 30, request), wire.opened
    ids = [frazil.open(url_of(wire), namespace=name) for name in names]
    assert len([each() for each in ids]) == 30
    assert (wire.connections, wire.opened) == (1, before + 1)
    assert len(drivers_threads()) == 3
    for each in ids[:-1]:
        each.close()
    assert wire.connections == 1
    ids[-1].close()
    until(lambda: wire.connections == 0, "the end of the session")
    until(lambda: not drivers_threads(), "the end of the driver's threads")


def test_a_first_id_of_another_namespace_costs_only_its_claim(wire, request):
    one, other = (frazil.open(url_of(wire), namespace=name) for name in new_names(wire, 2, request))
    with one, other:
        one()
        opened, turns = wire.opened, wire.turns
        other()
        assert wire.opened == opened
        assert wire.turns - turns <= 4  # the claim, and a renewal of the first one


def test_registries_that_were_not_closed_leave_no_session(wire, request):
    made = [connect(url_of(wire), f"{request.node.name}-{i}", ICICLE) for i in range(2)]
    for each in made:
        each.initialise(ask_of(LastSeen()), 0)
    with made[0]._links.taken() as link:
        client = ref(link._client)
    del made, each, link
    until(lambda: wire.connections == 0, "the end of the session")
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


def test_generators_go_on_after_a_loss(wire, request):
    names = new_names(wire, 5, request)
    ids = [frazil.open(url_of(wire), namespace=name) for name in names]
    made = [(i, each()) for i, each in enumerate(ids)]
    wire.cut()
    time.sleep(0.2)  # their claims of 100 ms end
    made += [(i, each()) for i, each in enumerate(ids)]
    assert len(set(made)) == 10
    for each in ids:
        each.close()
    until(lambda: wire.connections == 0, "the end of the session")


def test_a_tree_that_was_created_again_is_another_one(server):
    """Also for a session that was there before, and a namespace that it has not used."""
    one, other = (connect(server.url("/again"), name, ICICLE) for name in ("a", "b"))
    one.initialise(ask_of(LastSeen()), 0)
    with one.step() as (_, first):
        pass
    with server.client() as client:
        client.delete("/again", recursive=True)
        client.ensure_path("/again/record")
        client.ensure_path("/again/clock")
    with other.step() as (_, second):
        pass
    assert first.partition("/")[0] != second.partition("/")[0]
    one.close()
    other.close()


def test_the_size_of_a_node_is_not_told_of_another_one(some, wire):
    with some[0]._links.taken() as link:
        version = link.read(some[0].namespace).version
        link.write(some[0].namespace, bytes(200_000), version)
    with wire.refusing(), pytest.raises(RegistryUnavailable) as caught:
        mint(some[1])
    assert "bytes" not in str(caught.value)


def test_a_child_has_a_session_of_its_own(some):
    session = session_of(some[0])

    def good():
        same = [mint(each).seen.revision == 1 for each in some]
        sessions = {session_of(each) for each in some}
        return all(same) and len(sessions) == 1 and session not in sessions

    assert child(good) == 0
    assert [mint(each).seen.revision for each in some] == [2, 2, 2]
    assert session_of(some[0]) == session


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
