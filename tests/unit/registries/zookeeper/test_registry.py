"""The ZooKeeper registry against a real server: sessions, rights, forks, foreign nodes."""

import gc
import signal
import subprocess
import sys
import threading
import time
from weakref import ref

import pytest

import frazil
from frazil.claims.claim import Claim, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from frazil.registries.zookeeper.link import State
from frazil.registries.zookeeper.registry import _incarnation
from tests.servers.zookeeper import zookeeper
from tests.tools.trickle import Trickle
from tests.tools.verbs import ONE_RECORD, TICKETS, begin, mint, new
from tests.tools.waiting import until
from tests.unit.registries.one_connection import OneConnection, open_some

pytestmark = pytest.mark.long  # ZooKeeper comes in no wheel


@pytest.fixture(scope="module")
def server():
    with zookeeper() as running:
        yield running


@pytest.fixture
def registry(server, request):
    made = new(server.url(), request.node.name)
    yield made
    made.close()


def test_the_doctor(registry):
    report = registry.examine()
    assert report.server.startswith("ZooKeeper 3.")
    assert {fact.about: fact.verdict for fact in report.facts}["rights"] == "note"
    assert abs(report.ahead_us) < 60_000_000


def test_a_program_that_ends_by_an_error_does_not_wait_for_the_session(server, registry):
    """The driver waits ten seconds for its threads, which do not run any more."""
    program = (
        "import frazil, sys, time\n"
        "try:\n"
        "    frazil.init(*sys.argv[1:2], namespace=sys.argv[2], new=True)\n"
        "except frazil.errors.ConfigError as error:\n"
        "    kept = error\n"  # and with its traceback all that it refers to
        "    print(time.monotonic())\n"
    )
    waits_s = []
    for _ in range(3):
        asked = [sys.executable, "-c", program, server.url(), registry.terms.namespace]
        ended = subprocess.run(asked, check=True, capture_output=True, text=True)
        waits_s.append(time.monotonic() - float(ended.stdout))
    assert min(waits_s) < 5


def test_names_of_all_kinds(server):
    for name in ("a/b", "..", "a b", "ä", "."):
        made = new(server.url(), name)
        assert isinstance(mint(made), Claim)
        made.close()


def test_a_user_has_nodes_of_its_own(server):
    url = server.url("/own").replace("//", "//ids:secret@")
    made = new(url, "x")
    assert {fact.about: fact.verdict for fact in made.examine().facts}["rights"] == "good"
    assert "secret" not in made.url
    stranger = connect(server.url("/own"), "x", ONE_RECORD)
    with pytest.raises(ConfigError, match="right user and password"):
        mint(stranger)
    made.close()


def test_a_node_of_another_program_is_named(server, registry, request):
    with server.client() as client:
        client.set(f"/frazil/record/{request.node.name}", b"hello")
    with pytest.raises(ConfigError, match=f"deleteall /frazil/record/{request.node.name}"):
        mint(registry)


def test_a_node_that_is_too_large_for_the_server(server, registry, request):
    """It ends the connection; the error names what to set. A small node is not to blame."""
    with registry._links.taken() as link:
        state = link.read([request.node.name])
        with pytest.raises(
            RegistryUnavailable, match=r"1,100,000 bytes.*-Xmx.*jute\.maxbuffer"
        ) as caught:
            link.write(state.nodes, {request.node.name: bytes(1_100_000)})
    assert not caught.value.outcome_known
    mint(registry)
    server.signal_all(signal.SIGSTOP)
    try:
        with pytest.raises(RegistryUnavailable, match="majority") as caught:
            mint(registry)
    finally:
        server.signal_all(signal.SIGCONT)
    assert "jute" not in str(caught.value)


def test_a_tree_that_is_deleted_during_a_session(server):
    made = new(server.url("/gone?horizon=1s"), "x")
    with server.client() as client:
        client.delete("/gone", recursive=True)
    with pytest.raises(RegistryUnavailable, match="deleted during a request") as caught:
        mint(made)
    assert caught.value.outcome_known
    assert isinstance(mint(made), Wait)  # a record that is new to it is a loss
    made.close()


def test_a_counter_whose_tree_was_made_again_is_refused(server):
    made = new(server.url("/again"), "n", TICKETS, 1)
    last = mint(made, 5)
    made.close()
    with server.client() as client:
        kept = client.get("/again/record/n")[0]
        client.delete("/again", recursive=True)
        client.ensure_path("/again/record")
        client.create("/again/record/n", kept)
    newcomer = connect(server.url("/again"), "n", TICKETS)
    with pytest.raises(ConfigError, match=r"was replaced.*--forward"):
        mint(newcomer)
    begin(newcomer, last.until + 1)
    assert mint(newcomer).start == last.until + 1
    newcomer.close()


@pytest.mark.parametrize(
    ("known", "epoch", "start_ms", "same"),
    [
        ("7/start 1000", 0, 1000, True),
        ("7/start 1000", 0, 1255, True),
        ("7/start 1000", 0, 900, True),
        ("7/start 1000", 0, 1256, False),
        ("8/start 1000", 0, 1000, False),
        ("7/epoch 3", 3, 5, True),
        ("7/epoch 3", 4, 5, False),
        ("7/epoch 3", 0, 5, False),
        ("", 0, 5, False),
    ],
)
def test_incarnations(known, epoch, start_ms, same):
    state = State([], 7, epoch, start_ms, 0)
    assert (_incarnation(state, known) == known) == same


@pytest.fixture
def wire(server):
    with Trickle(server.port) as wire:
        yield wire


@pytest.fixture
def url(wire):
    return f"zookeeper://127.0.0.1:{wire.port}"


class TestOneConnection(OneConnection):
    patience = "frazil.registries.zookeeper.link._ANSWER_S"


@pytest.fixture
def some(url):
    """Registries of three namespaces."""
    made = open_some(url, 3)
    yield made
    for each in made:
        each.close()


def drivers_threads():
    words = "_thread_worker", "zk_loop"
    return [each.name for each in threading.enumerate() if any(w in each.name for w in words)]


def test_a_step_on_all_notices_the_first_shelf_although_it_writes_another(server):
    scheme = frazil.scheme("sign:1=0 time:41 node:9 sequence:13 @1ms since 2016-02-18")
    registry, seen = new(server.url(), "all-of-two", scheme), []

    def verb(record, _reading_us, incarnation):
        seen.append(record.incarnation == incarnation)
        with server.client() as client:
            if len(seen) == 1:
                client.delete("/frazil/record/all-of-two")
        record.revision += 1

    registry.perform(verb, None, 1)
    registry.close()
    assert seen == [True, False]


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
        nodes = link.read([some[0].namespace]).nodes
        link.write(nodes, {some[0].namespace: bytes(200_000)})
    with wire.refusing(), pytest.raises(RegistryUnavailable) as caught:
        mint(some[1])
    assert "bytes" not in str(caught.value)
