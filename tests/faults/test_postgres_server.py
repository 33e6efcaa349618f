"""PostgreSQL killed, frozen, failed over and without its table, under live generators."""

import re
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg

from frazil.registries.postgres.registry import schema
from tests.canary import canary
from tests.faults.fleet import RECORDS, TWO_BY_DAY, UNHURRIED
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres
from tests.tools.waiting import until


@contextmanager
def stepped():
    """A server, and the function that sets how far its clock is from the true one."""
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with postgres(env=clock.env) as server:
            yield server, clock.step


def test_killed_and_restarted(fleet):
    with postgres() as server:
        crowd = fleet(server.url(options="?horizon=2s"))
        crowd.start(4)
        for _ in range(5):  # on a busy machine the claims may have ended before the test looks
            ended = crowd.errors().count("no claim since")
            server.kill9()
            at_kill = sum(crowd.sizes().values())
            until(lambda n=ended: crowd.errors().count("no claim since") > n, "the end of a claim")
            went_on = sum(crowd.sizes().values()) > at_kill
            server.start()
            crowd.progress()
            if went_on:
                break
        assert went_on  # inside the claims that they held
        crowd.start(2)
        assert crowd.repeats() == 0


def test_frozen(fleet):
    with postgres() as server:
        crowd = fleet(server.url(options="?horizon=2s"))
        crowd.start(4)
        server.sigstop()
        crowd.wait_for_all()
        crowd.wait_for_error("no answer within 4 s")
        server.sigcont()
        crowd.progress()
        crowd.start(2)
        assert crowd.repeats() == 0


@TWO_BY_DAY
def test_dropped_table(fleet, scheme):
    with postgres() as server:
        crowd = fleet(server.url(options="?horizon=2s"), scheme=scheme)
        crowd.start(4)
        server.sql("DROP TABLE frazil.frazil_namespace")
        said = until(
            lambda: re.search("ConfigError.*frazil init .postgresql:.*", crowd.errors()), "an error"
        )
        assert "table.sql" in said[0]
        with psycopg.connect(server.url()) as link:
            link.execute(schema().encode())
        crowd.start(2)
        crowd.progress()
        assert crowd.repeats() == 0


def test_its_clock_stepped_back_and_forward(fleet):
    with stepped() as (server, step):
        crowd = fleet(server.url(options="?horizon=2s"), timeout=UNHURRIED)
        crowd.start(2)
        step(-3600)
        crowd.progress()
        crowd.start(1)
        step(0)
        crowd.progress()
        assert crowd.errors() == ""
        step(3600)  # no member believes it
        crowd.wait_for_error("ClockError")
        step(0)
        crowd.progress()
        crowd.start(1)
        assert crowd.repeats() == 0


def failover(fleet, **options):
    with postgres() as server:
        replica = server.replica()
        try:
            hosts = f"127.0.0.1:{server.port},127.0.0.1:{replica.port}"
            query = "target_session_attrs=read-write&horizon=3s"
            url = f"postgresql://postgres@{hosts}/postgres?{query}"
            crowd = fleet(url, lead="3s", **options)
            crowd.start(2)
            replica.sql("ALTER SYSTEM SET primary_conninfo = ''")
            replica.sql("SELECT pg_reload_conf()")
            until(lambda: not replica.sql("TABLE pg_stat_wal_receiver"), "the standby to lag")
            time.sleep(1.5)
            crowd.start(2)
            server.kill9()
            replica.promote()
            crowd.start(2)
            crowd.progress()
            return crowd.repeats()
        finally:
            replica.close()


@RECORDS
def test_missed_writes(fleet, scheme):
    assert failover(fleet, scheme=scheme) == 0


@canary
@TWO_BY_DAY
def test_this_test_can_see(fleet, scheme):
    assert failover(fleet, broken="unguarded_store", scheme=scheme) > 0
