"""A standby of PostgreSQL that missed writes takes over, under live generators."""

import signal
import time

from tests.canary import canary
from tests.faults.fleet import RECORDS, TWO_BY_DAY
from tests.servers.postgres import postgres
from tests.tools.waiting import until


def failover(fleet, long="3s", **options):
    """Two hold claims that the standby lacks, and are stopped until two more have started."""
    with postgres() as server:
        replica = server.replica()
        try:
            hosts = f"127.0.0.1:{server.port},127.0.0.1:{replica.port}"
            query = f"target_session_attrs=read-write&horizon={long}"
            url = f"postgresql://postgres@{hosts}/postgres?{query}"
            crowd = fleet(url, lead=long, **options)
            crowd.start(2)
            replica.sql("ALTER SYSTEM SET primary_conninfo = ''")
            replica.sql("SELECT pg_reload_conf()")
            until(lambda: not replica.sql("TABLE pg_stat_wal_receiver"), "the standby to lag")
            crowd.start(2)
            time.sleep(4)  # so that their claims are longer than the failover takes
            for name in ("w2", "w3"):
                crowd.signal(name, signal.SIGSTOP)
            server.kill9()
            replica.promote()
            crowd.start(2)
            for name in ("w2", "w3"):
                crowd.signal(name, signal.SIGCONT)
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
    assert failover(fleet, "20s", broken="unguarded_store", scheme=scheme) > 0
