"""One MySQL connection for all registries of a process: losses, transactions, forks."""

import gc
import os
import threading
import time

import pymysql
import pytest

import frazil
from frazil.claims.claim import Claim
from frazil.errors import RegistryUnavailable
from frazil.registries.mysql import registry as mysql
from frazil.registries.mysql.registry import statements
from frazil.system.sockets import is_quiet
from tests.servers.mariadb import mariadb
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.verbs import mint
from tests.tools.waiting import until
from tests.unit.registries.one_connection import OneConnection, open_some

pytestmark = pytest.mark.long  # MariaDB comes in no wheel


@pytest.fixture(scope="module")
def server():
    with mariadb() as running:
        running.sql("CREATE USER app@'%'")
        for statement in statements():
            running.sql(statement)
        running.sql("GRANT SELECT, INSERT, UPDATE ON frazil_namespace TO app@'%'")
        yield running


@pytest.fixture
def ready(server):
    """The server with an empty table, which the user may use and has no session yet."""
    gc.collect()  # links of earlier tests, in cycles with their errors
    until(lambda: not sessions(server), "the end of earlier sessions")
    server.sql("DELETE FROM frazil_namespace")
    return server


@pytest.fixture
def wire(ready):
    with Proxy(ready.port) as wire:
        yield wire


@pytest.fixture
def url(ready, wire):
    return ready.url(user="app").replace(str(ready.port), str(wire.port))


class TestOneConnection(OneConnection):
    """See the kit."""


def sessions(server):
    text = "SELECT id FROM information_schema.processlist WHERE user = 'app'"
    return [number for (number,) in server.sql(text)]


def session_of(registry):
    with registry._links.taken() as link:
        return link._connection.thread_id()


def strike(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_child_of_a_fork_beside_a_request_has_its_first_answer(ready):
    """A thread that the child does not have holds the lock of the reader."""
    frazil.init(ready.url(user="app"), "tickets", namespace="n", new=True)
    with frazil.open(ready.url(user="app"), "tickets", namespace="n", block=1) as ids:
        ids()
        with ready.connect() as other, other.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.execute("SELECT 1 FROM frazil_namespace FOR UPDATE")
            thread = threading.Thread(target=ids)
            thread.start()
            time.sleep(0.2)  # until the thread waits for the row

            def finds_an_id():
                os.write(there, b"%d" % ids())
                return True

            here, there = os.pipe()
            until_free = threading.Timer(0.5, other.rollback)
            until_free.start()
            assert child(finds_an_id) == 0
            until_free.join()
        thread.join()
        os.close(there)
        with os.fdopen(here) as told:
            assert int(told.read()) != ids()


def test_a_child_inside_its_parents_step_neither_commits_nor_ends_it(ready):
    (registry,) = open_some(ready.url(user="app"), 1)

    with registry._connected() as (_, connection):
        pass

    def commits():
        with pytest.raises((pymysql.Error, OSError)):
            connection.ask("COMMIT")
        return True

    with registry.step() as (record, _):  # on the same connection
        assert child(commits) == 0
        record.revision += 1
    assert mint(registry).seen.revision == 2


def test_a_session_that_was_ended_is_replaced(ready):
    some = open_some(ready.url(user="app"), 3)
    session = session_of(some[0])
    with some[0]._links.taken() as link:
        ready.sql(f"KILL {session}")
        until(lambda: not is_quiet(link._connection.fileno()), "the server's last message")
    for each in some:
        assert isinstance(mint(each), Claim)  # without an error
    until(lambda: len(sessions(ready)) == 1, "the server to have 1")
    assert session_of(some[0]) != session


def test_a_session_that_is_ended_during_a_verb_is_replaced_once(ready):
    some = open_some(ready.url(user="app"), 3)
    session = session_of(some[0])
    with pytest.raises(RegistryUnavailable), some[0].step():
        ready.sql(f"KILL {session}")
    for each in some:
        assert mint(each).seen.revision == 1
    until(lambda: len(sessions(ready)) == 1, "the server to have 1")


@pytest.mark.parametrize("place", ["PackedSlots", "reading_us", "_keep"])
def test_a_transaction_that_was_left_open_is_of_no_other_verb(ready, monkeypatch, place):
    broken, other = open_some(ready.url(user="app"), 2)
    with monkeypatch.context() as patch:
        patch.setattr(mysql if place == "PackedSlots" else broken, place, strike)
        with pytest.raises(KeyboardInterrupt):
            mint(broken)
    with other.step() as (record, _):
        record.revision += 1
        row = f"SELECT revision FROM frazil_namespace WHERE name = '{broken.namespace}'"
        assert ready.sql(f"{row} FOR UPDATE NOWAIT") == ((0,),)
    assert mint(other).seen.revision == 2
    with other._connected() as (_, connection):
        ((timeout_s, writes),) = connection.ask("SELECT @@wait_timeout, @frazil_writes")[0]
    assert (timeout_s > mysql._IDLE_S, writes) == (True, None)
    assert mint(broken).seen.revision == 1


def test_verbs_at_the_same_time_do_not_share_a_transaction(ready):
    one, other = open_some(ready.url(user="app"), 2)
    with one.step() as (record, _):
        record.revision += 1
        assert mint(other).seen.revision == 1
    assert mint(one).seen.revision == 2
    until(lambda: len(sessions(ready)) == 1, "the server to have 1")
