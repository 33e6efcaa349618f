"""A standby of PostgreSQL that missed writes takes over, under live generators."""

import time

from tests.canary import canary
from tests.faults.fleet import RECORDS, TWO_BY_DAY
from tests.servers.postgres import postgres
from tests.tools.waiting import until


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
