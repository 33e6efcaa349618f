"""``frazil_id`` of a server that is killed, replaced and has a wrong clock: no ID comes twice."""

import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.canary import canary
from tests.faults.inside import set_up, trial
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres, programs

__all__: list[str] = []


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
        assert running.repeats() == 0
        assert running.taken > 1000


def test_a_standby_that_missed_the_last_ids():
    with trial(8) as running:
        running.promote_stale(step_s=-0.8)  # less than the horizon
        running.progress()
        assert running.repeats() == 0


@canary
@pytest.mark.parametrize(
    "broken",
    [
        "in_a_row",  # a rollback is enough
        "without_lock",  # so are two sessions
    ],
)
def test_this_test_sees_a_repeat(broken):
    with trial(8, broken=broken) as running:
        for _ in range(3):
            running.progress()
        assert running.repeats() > 0


@canary
def test_this_test_sees_a_missing_guard():
    with trial(8, broken="without_guard") as running:
        running.promote_stale(step_s=-0.8)
        for _ in range(5):
            running.progress()
        assert running.repeats() > 0


FLUSHES = pytest.mark.skipif(
    "pginstall18" not in str(programs()[-1:]), reason="no function of the server flushes the log"
)


def lonely_transaction(broken):
    """Repeats after a crash in the one transaction of a server, whose log is still in memory.

    The clock is an hour behind afterwards, so nothing but what is on the disk tells the time.
    """
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with postgres(programs()[-1], "wal_writer_delay=10s", env=clock.env) as server:
            set_up(server)
            if broken:
                (text,) = server.sql("SELECT pg_get_functiondef('frazil_id'::regproc)")[0]
                flush = "PERFORM pg_logical_emit_message(false, 'frazil_id', '', true);"
                assert flush in text
                server.sql(text.replace(flush, "NULL;"))
            server.sql("CHECKPOINT")
            link = psycopg.connect(server.url())
            one = "SELECT frazil_id('orders') FROM generate_series(1, 20), pg_sleep(0.15)"
            seen = {n for _ in range(20) for (n,) in link.execute(one)}
            server.close()
            link.close()
            clock.step(-3600)
            server.start()
            with psycopg.connect(server.url(), autocommit=True) as link:
                more = "SELECT frazil_id('orders') FROM generate_series(1, 30000)"
                again = {n for (n,) in link.execute(more)}
            return len(again & seen)


@FLUSHES
def test_a_transaction_that_nobody_saw():
    assert lonely_transaction(broken=False) == 0


@canary
@FLUSHES
def test_this_test_sees_a_mark_that_is_not_on_the_disk():
    assert lonely_transaction(broken=True) > 0
