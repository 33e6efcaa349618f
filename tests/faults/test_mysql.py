"""MariaDB killed, frozen, put back, replaced by a stale replica, without its table, misled."""

import re
import tempfile
import time
from pathlib import Path

from frazil.registries.mysql.registry import statements
from tests.canary import canary
from tests.faults.fleet import RECORDS, TWO_BY_DAY, UNHURRIED
from tests.servers.clock import SteppedClock
from tests.servers.mariadb import mariadb
from tests.tools.proxy import Proxy
from tests.tools.waiting import until


@TWO_BY_DAY
def test_killed_frozen_and_without_its_table(fleet, scheme):
    with mariadb() as server:
        crowd = fleet(server.url("?horizon=2s"), scheme=scheme)
        crowd.start(3)
        ended = crowd.errors().count("no claim since")
        server.kill9()
        until(lambda: crowd.errors().count("no claim since") > ended, "the end of a claim")
        server.start()
        crowd.progress()
        server.sigstop()
        crowd.wait_for_error("no answer within 4 s")
        server.sigcont()
        crowd.progress()
        server.sql("DROP TABLE frazil_namespace")
        said = until(
            lambda: re.search("ConfigError.*frazil init .mysql:.*", crowd.errors()), "an error"
        )
        assert "table.sql" in said[0]
        for statement in statements():
            server.sql(statement)
        crowd.start(1)
        crowd.progress()
        assert crowd.repeats() == 0


def put_back(fleet, long="3s", age_s=1.5, **options):
    """The data directory of three seconds ago, under members that hold claims."""
    with mariadb() as server:
        crowd = fleet(server.url(f"?horizon={long}"), lead=long, **options)
        server.save()
        crowd.start(2)
        time.sleep(age_s)
        server.put_back()
        crowd.start(2)
        crowd.progress()
        return crowd.repeats()


@RECORDS
def test_data_directory_put_back(fleet, scheme):
    assert put_back(fleet, scheme=scheme) == 0


@canary
def test_that_test_can_see(fleet):
    # A repeat needs a server that is back while the old claims last, which a busy machine may miss.
    assert any(put_back(fleet, "20s", 8, broken="unguarded_store") > 0 for _ in range(6))


def failover(fleet, long="3s", age_s=1.5, **options):
    """A replica that missed the last writes becomes the primary."""
    with mariadb("log-bin") as server, Proxy(server.port) as wire:
        url = f"mysql://root@127.0.0.1:{wire.port}/app?horizon={long}"
        crowd = fleet(url, lead=long, **options)
        replica = server.replica()
        try:
            crowd.start(2)
            rows = "SELECT name FROM frazil_namespace ORDER BY name"
            until(lambda: replica.sql(rows) == server.sql(rows), "the replica to have the rows")
            replica.sql("STOP SLAVE")
            time.sleep(age_s)
            crowd.start(2)
            server.kill9()
            replica.sql("RESET SLAVE ALL")
            wire.target = replica.port
            wire.cut()
            crowd.start(2)
            crowd.progress()
            return crowd.repeats()
        finally:
            replica.close()


@TWO_BY_DAY
def test_stale_replica_promoted(fleet, scheme):
    assert failover(fleet, scheme=scheme) == 0


@canary
def test_that_failover_can_be_seen(fleet):
    # A repeat needs a server that is back while the old claims last, which a busy machine may miss.
    assert any(failover(fleet, "20s", 8, broken="unguarded_store") > 0 for _ in range(6))


def test_its_clock_stepped_back_and_forward(fleet):
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with mariadb(env=clock.env) as server:
            crowd = fleet(server.url("?horizon=2s"), timeout=UNHURRIED)
            crowd.start(2)
            clock.step(-3600)
            crowd.progress()
            crowd.start(1)
            clock.step(0)
            crowd.progress()
            assert crowd.errors() == ""
            clock.step(3600)  # no member believes it
            crowd.wait_for_error("ClockError")
            clock.step(0)
            crowd.progress()
            assert crowd.repeats() == 0
