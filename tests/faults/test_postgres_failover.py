"""A standby that missed the last writes becomes the primary, under live generators."""

import time

from tests.canary import canary
from tests.servers.postgres import postgres
from tests.tools.waiting import until


def failover(fleet, broken=""):
    with postgres() as server:
        replica = server.replica()
        try:
            hosts = f"127.0.0.1:{server.port},127.0.0.1:{replica.port}"
            options = "target_session_attrs=read-write&horizon=3s"
            url = f"postgresql://postgres@{hosts}/postgres?{options}"
            crowd = fleet(url, broken=broken, lead="3s")
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


def test_missed_writes(fleet):
    assert failover(fleet) == 0


@canary
def test_this_test_can_see(fleet):
    assert failover(fleet, broken="unguarded_store") > 0
