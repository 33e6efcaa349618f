"""One connection to etcd for all registries of a process: its checks, losses and forks."""

import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.etcd.link import Link
from tests.servers import etcd as servers
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.waiting import until

ICICLE = frazil.scheme("icicle")
TICKETS = frazil.scheme("tickets")


@pytest.fixture
def wire(cluster):
    with Proxy(cluster.members[0].port) as wire:
        yield wire


def url_of(wire):
    return f"etcd://127.0.0.1:{wire.port}"


def open_some(wire, count):
    made = [connect(url_of(wire), f"{secrets.token_hex(4)}-{i}", ICICLE) for i in range(count)]
    for each in made:
        each.initialise(ask_of(LastSeen()), 0)
    return made


def mint(registry, ticks=1):
    return registry.mint(ask_of(LastSeen()), ticks)


def new_names(wire, count):
    """Namespaces that were set up; what did so is closed."""
    names = [secrets.token_hex(4) for _ in range(count)]
    for name in names:
        frazil.init(url_of(wire), namespace=name, new=True)
    until(lambda: wire.connections == 0, "the end of what init opened")
    return names


def test_generators_of_many_namespaces_have_one(wire):
    names, before = new_names(wire, 50), wire.opened
    ids = [frazil.open(url_of(wire), namespace=name) for name in names]
    assert len([each() for each in ids]) == 50
    assert (wire.connections, wire.opened) == (1, before + 1)
    for each in ids[:-1]:
        each.close()
    assert wire.connections == 1
    ids[-1].close()
    until(lambda: wire.connections == 0, "the end of the connection")


def test_a_first_id_of_another_namespace_costs_only_its_claim(wire):
    one, other = (frazil.open(url_of(wire), namespace=name) for name in new_names(wire, 2))
    with one, other:
        one()
        opened, turns = wire.opened, wire.turns
        other()
        assert wire.opened == opened
        assert wire.turns - turns <= 4  # read, index, write, and a renewal of the first one


def test_each_namespace_asks_for_the_index_once(wire, monkeypatch):
    some, asked, ask = open_some(wire, 3), [], Link._ask
    monkeypatch.setattr(
        Link,
        "_ask",
        lambda self, client, path, *more: asked.append(path) or ask(self, client, path, *more),
    )
    again = [connect(url_of(wire), each.namespace, ICICLE) for each in some]
    for each in again * 3:
        mint(each)
    assert asked.count("maintenance/status") == 3
    wire.cut()
    for each in again * 3:
        mint(each)
    assert asked.count("maintenance/status") == 6


def test_a_restore_is_noticed_by_each_namespace(tmp_path):
    """The connection is new for the first one only, and both records are old."""
    with servers.etcd(1) as cluster:
        for _ in range(40):
            cluster.members[0].ask("kv/put", {"key": "eA=="})
        before = [connect(cluster.url, name, TICKETS) for name in ("a", "b")]
        for each in before:
            each.initialise(ask_of(LastSeen()), 1)
            mint(each, 5)
        cluster.save(tmp_path / "snapshot")
        for each in before:
            mint(each, 5000)
        cluster.restore(tmp_path / "snapshot")
        for name in ("a", "b"):
            with pytest.raises(ConfigError, match=r"was replaced.*--forward"):
                mint(connect(cluster.url, name, TICKETS), 5)
        assert before


def test_a_reconnection_during_a_request_that_is_refused_is_noticed(wire, monkeypatch):
    """The driver reconnects silently; the next answer is from another connection."""
    (registry,) = open_some(wire, 1)
    with registry._links.taken() as link:
        number = link.connection
        wire.cut()
        with pytest.raises(ConfigError):
            link.post("auth/authenticate", {"name": "x", "password": "y"}, dict)
    mint(registry)
    with registry._links.taken() as link:
        assert link.connection > number


def test_a_lost_connection_is_replaced_once(wire):
    some = open_some(wire, 5)
    before = wire.opened
    wire.cut()
    for each in some:
        assert mint(each).seen.revision == 1
    assert wire.opened <= before + 2  # the driver may send on the old one
    until(lambda: wire.connections == 1, "one connection")


def test_generators_go_on_after_a_loss(wire):
    ids = [frazil.open(url_of(wire), namespace=name) for name in new_names(wire, 5)]
    made = [(i, each()) for i, each in enumerate(ids)]
    wire.cut()
    time.sleep(0.2)  # their claims of 100 ms end
    made += [(i, each()) for i, each in enumerate(ids)]
    assert len(set(made)) == 10
    for each in ids:
        each.close()
    until(lambda: wire.connections == 0, "the end of the connection")


def test_a_child_has_a_connection_of_its_own(wire):
    one, other = open_some(wire, 2)
    opened = wire.opened
    assert child(lambda: [mint(each).seen.revision for each in (one, other)] == [1, 1]) == 0
    assert wire.opened == opened + 1
    assert [mint(each).seen.revision for each in (one, other)] == [2, 2]
    assert wire.opened == opened + 1


def test_a_child_holds_no_copy_of_a_connection_in_use(wire):
    """Else the server would not notice the end of the parent."""
    (registry,) = open_some(wire, 1)
    with registry._links.taken():  # as inside a verb
        assert len(descriptors_to(wire.port)) == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(child, lambda: not descriptors_to(wire.port)).result() == 0
