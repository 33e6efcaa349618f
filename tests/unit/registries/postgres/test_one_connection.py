"""One PostgreSQL connection for all registries of a process: losses, transactions, forks."""

import gc
import os
import socket
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from frazil.errors import RegistryUnavailable
from frazil.registries import connect
from frazil.registries.postgres import registry as postgres
from frazil.registries.postgres.registry import schema
from tests.servers import postgres as servers
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.verbs import ICICLE, begin, mint
from tests.tools.waiting import until
from tests.unit.registries.one_connection import open_some


@pytest.fixture(scope="module")
def server():
    with servers.postgres() as running:
        running.sql("CREATE ROLE app LOGIN")
        yield running


@pytest.fixture
def ready(server):
    """The server with an empty table, which the role may use and has no session yet."""
    gc.collect()  # links of earlier tests, in cycles with their errors
    until(lambda: sessions(server) == 0, "the end of earlier sessions")
    with psycopg.connect(server.url()) as link:
        link.execute("DROP TABLE IF EXISTS frazil.frazil_namespace")
        link.execute(schema().encode())
        link.execute("GRANT SELECT, INSERT, UPDATE ON frazil.frazil_namespace TO app")
    return server


@pytest.fixture
def wire(ready):
    with Proxy(ready.port) as wire:
        yield wire


@pytest.fixture
def url(ready, wire):
    return ready.url("app").replace(str(ready.port), str(wire.port))


def open_(server, namespace="x"):
    return connect(server.url("app"), namespace, ICICLE)


def test_a_child_inside_its_parents_step_neither_commits_nor_ends_it(ready):
    registry = open_(ready)
    begin(registry)

    def commits():
        with pytest.raises(psycopg.Error):
            registry._locked.execute("COMMIT")
        return True

    with registry.step() as (record, _):
        assert child(commits) == 0
        record.revision += 1
    assert mint(registry).seen.revision == 2


def test_a_child_whose_parent_is_inside_a_verb_holds_no_copy_of_its_connection(ready):
    """Else the server would not notice the death of the parent."""
    registry = open_(ready)
    begin(registry)

    def cut():
        with socket.socket(fileno=os.dup(number)) as copy:
            return copy.family == socket.AF_UNIX and not copy.recv(1)

    with registry.step():
        number = registry._locked.connection.fileno()
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(child, cut).result() == 0


def sessions(server):
    text = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"
    return server.sql(text)[0][0]


def test_a_connection_that_is_lost_is_replaced_once(ready):
    some = open_some(ready.url("app"), 5)
    with pytest.raises(RegistryUnavailable), some[0].step():
        ready.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='app'")
    for each in some:
        assert mint(each).seen.revision == 1
    until(lambda: sessions(ready) == 1, "the server to have 1")


@pytest.mark.parametrize("place", ["_results", "lock"])
def test_a_transaction_that_was_left_open_is_of_no_other_verb(ready, monkeypatch, place):
    broken, other = open_some(ready.url("app"), 2)
    with monkeypatch.context() as patch:
        if place == "lock":
            patch.setattr(broken, "reading_us", strike)
        else:
            patch.setattr(postgres, "_results", strike)
        with pytest.raises(KeyboardInterrupt):
            mint(broken)
    with other.step() as (record, _):
        record.revision += 1
        row = f"SELECT count(*) FROM frazil.frazil_namespace WHERE name = '{broken.namespace}'"
        assert ready.sql(f"{row} FOR UPDATE NOWAIT".replace("count(*)", "1")) == [(1,)]
    assert mint(other).seen.revision == 2
    assert mint(broken).seen.revision == 1


def strike(*_: object) -> None:
    raise KeyboardInterrupt
