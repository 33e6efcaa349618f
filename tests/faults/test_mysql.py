"""MariaDB put back, and replaced by a stale replica, under live generators."""

import time

from tests.canary import canary
from tests.faults.fleet import RECORDS, TWO_BY_DAY
from tests.servers.mariadb import mariadb
from tests.tools.proxy import Proxy
from tests.tools.waiting import until


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
    assert any(failover(fleet, "20s", 8, broken="unguarded_store") > 0 for _ in range(6))
