"""``frazil_id`` of a server that is killed, replaced and has a wrong clock: no ID comes twice."""

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest

import frazil
from frazil.system.clock import wall_us
from tests.canary import canary
from tests.faults.inside import BROKEN, change, set_up, trial
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres, programs
from tests.tools.waiting import until


def test_killed_with_a_clock_that_steps():
    with trial(8) as running:
        for step_s in (-3600, 30, 3600):
            running.step(step_s)
            running.progress()
        running.kill()
        running.progress()
        running.kill(step_s=-3600)
        running.progress()
        running.kill(step_s=7200)
        running.progress()
        running.kill_session(step_s=-3600)
        running.progress()
        assert running.repeats() == 0
        assert running.taken > 1000


def test_a_standby_that_missed_the_last_ids():
    with trial(8) as running:
        running.promote_stale(step_s=-0.8)  # less than the horizon
        running.progress()
        assert running.repeats() == 0


@canary
@pytest.mark.parametrize("broken", BROKEN)
def test_this_test_sees_a_repeat(broken):
    """Of a function with a row a rollback is enough, and without the lock two sessions."""
    with trial(8, broken=broken) as running:
        if broken == "without_guard":
            running.promote_stale(step_s=-0.8)
        for _ in range(5):
            running.progress()
        assert running.repeats() > 0


MANY = "SELECT frazil_id('orders') FROM generate_series(1, 30000)"
BOTH = pytest.mark.parametrize(
    "broken", [pytest.param(False, id="whole"), pytest.param(True, marks=canary, id="broken")]
)
"""With the function as it is, and without the part of it that notices the fault."""


def asked(url, query=MANY):
    """The IDs that a new session gets."""
    with psycopg.connect(url, autocommit=True) as link:
        return {n for (n,) in link.execute(query)}


@contextmanager
def server_with_clock() -> Iterator[tuple]:
    """A server whose log is written late, with frazil_id, and its clock."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with postgres(programs()[-1], "wal_writer_delay=10s", env=clock.env) as server:
            yield server, clock


def killed_backend(broken):
    """Repeats after one process of the server was killed, and the clock stepped back.

    The others end as well and the log is replayed, but the postmaster goes on.
    """
    with server_with_clock() as (server, clock):
        set_up(server)
        if broken:
            # Without a seal, as where the log is lost from the last checkpoint on
            resets = "extract(epoch FROM least(w.stats_reset, a.stats_reset)), "
            change(server.sql, (resets, ""), ("seal = 0 OR", ""))
            server.sql(MANY)  # the sequences are from now on of this server
            server.sql("SELECT pg_sleep(1.5)")
            server.sql(MANY)
        server.sql("CHECKPOINT")
        with closing(psycopg.connect(server.url())) as link:
            seen = {n for _ in range(20) for (n,) in link.execute(MANY)}
            link.rollback()
            clock.step(-60)
            with closing(psycopg.connect(server.url())) as victim:
                os.kill(victim.info.backend_pid, signal.SIGKILL)
            until(lambda: ended(link), "the server to end its sessions")
        return len(seen & until(lambda: again(server), "the server to be back"))


def rows(link, text):
    """What a statement returns, if it returns rows."""
    done = link.execute(text)
    return done.fetchall() if done.description else []


def ended(link):
    try:
        link.execute("SELECT 1")
    except psycopg.Error:
        return True
    return False


def again(server):
    try:
        return asked(server.url())
    except psycopg.OperationalError:
        return set()


@BOTH
def test_one_of_its_processes_is_killed(broken):
    assert (killed_backend(broken) > 0) is broken


def put_back(broken):
    """Repeats after a copy of the database took its place, and the clock stepped back."""
    with server_with_clock() as (server, clock):
        server.sql("CREATE DATABASE shop")
        shop = server.url(database="shop")
        set_up(server, "5s", database="shop")
        if broken:
            with psycopg.connect(shop, autocommit=True) as link:
                change(partial(rows, link), ("d.oid, d.xmin, ", ""))
                link.execute(MANY)
        asked(shop)
        server.sql("CREATE DATABASE copy TEMPLATE shop")
        seen = {n for _ in range(4) for n in asked(shop)}
        clock.step(-4)  # less than the horizon
        server.sql("DROP DATABASE shop")
        server.sql("ALTER DATABASE copy RENAME TO shop")
        return len(seen & asked(shop))


@BOTH
def test_a_copy_of_the_database_takes_its_place(broken):
    assert (put_back(broken) > 0) is broken


def test_no_id_is_before_the_guard():
    """Also where the clock stepped back, and what is added to it gets less after the wait."""
    with server_with_clock() as (server, clock):
        set_up(server, "2s")
        asked(server.url())
        clock.step(-1.5)
        server.sql("SELECT setval('frazil.frazil_ids_1_life', 0)")  # of another server
        ((cell,),) = server.sql("SELECT last_value FROM frazil.frazil_ids_1_cell")
        first = min(asked(server.url()))
        assert frazil.scheme().unpack(first)["time"] >= (cell >> 12) + 2000


def test_the_guard_is_a_horizon_after_the_clock_with_what_is_added():
    """Another server may have made IDs up to there."""
    with server_with_clock() as (server, _):
        set_up(server, "1s")
        asked(server.url())
        server.sql("SELECT setval('frazil.frazil_ids_1_ahead', 3000000)")
        server.sql("SELECT setval('frazil.frazil_ids_1_life', 0)")
        now_ms = frazil.scheme().layout.tick_at(wall_us())
        first = frazil.scheme().unpack(min(asked(server.url())))
        assert first["time"] >= now_ms + 3000 + 1000  # what is added, and the horizon


def open_transaction(server, level):
    """Repeats between a transaction that does not see the loss of the record, and a generator."""
    url = server.url()
    with psycopg.connect(url) as link:
        link.isolation_level = psycopg.IsolationLevel[level]
        made = [n for (n,) in link.execute(MANY)]

        def go_on():
            with suppress(psycopg.errors.ObjectNotInPrerequisiteState):
                for _ in range(5):
                    made.extend(n for (n,) in link.execute(MANY))

        server.sql("DELETE FROM frazil.frazil_namespace")
        with frazil.open(f"{url}?horizon=1s", namespace="orders") as ids:
            others = set(ids.take(10))
            transaction = threading.Thread(target=go_on)
            transaction.start()
            while transaction.is_alive():
                others.update(ids.take(1000))
        return len(others & set(made))


@BOTH
@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_a_transaction_that_does_not_see_the_loss(level, broken):
    with server_with_clock() as (server, _):
        set_up(server)
        if broken:
            server.sql("DROP TRIGGER frazil_ids_lost ON frazil.frazil_namespace")
        assert (open_transaction(server, level) > 0) is broken


def lonely_transaction(broken):
    """Repeats after a crash in the one transaction of a server, whose log is still in memory.

    The clock is an hour behind afterwards, so nothing but what is on the disk tells the time.
    """
    with server_with_clock() as (server, clock):
        set_up(server)
        if broken:
            flush = "PERFORM pg_logical_emit_message(false, 'frazil_id', '', true);"
            change(server.sql, (flush, "NULL;"))
        server.sql("CHECKPOINT")
        link = psycopg.connect(server.url())
        one = "SELECT frazil_id('orders') FROM generate_series(1, 20), pg_sleep(0.15)"
        seen = {n for _ in range(20) for (n,) in link.execute(one)}
        server.close()
        link.close()
        clock.step(-3600)
        server.start()
        return len(seen & asked(server.url()))


@BOTH
@pytest.mark.skipif(
    "pginstall18" not in str(programs()[-1:]), reason="no function of the server flushes the log"
)
def test_a_transaction_that_nobody_saw(broken):
    assert (lonely_transaction(broken) > 0) is broken
