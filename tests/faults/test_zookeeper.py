"""ZooKeeper put back, and without its leader, under live generators."""

import pytest

import frazil
from frazil.registries import connect
from tests.canary import canary
from tests.faults.fleet import RECORDS, TIGHT
from tests.servers.zookeeper import zookeeper
from tests.tools.waiting import until


def test_its_leader_killed(fleet):
    with zookeeper(3) as servers:
        crowd = fleet(servers.url("?horizon=2s"))
        crowd.start(3)
        servers.kill_leader()
        crowd.progress()
        servers.start()
        crowd.start(1)
        crowd.progress()
        assert crowd.repeats() == 0


def shortest_s(url, scheme):
    """How long the shortest claim lasts from now on."""
    registry = connect(url, "default", frazil.scheme(scheme))
    found = registry.look()
    registry.close()
    now = registry.terms.tick_at(found.now_us)
    return min(holding.until - now for holding in found.holdings) * registry.terms.tick_us / 1e6


def put_back(fleet, count, broken="", scheme=TIGHT):
    """The data of all servers as it was before claims were given, under their holders."""
    with zookeeper(count) as servers:
        crowd = fleet(servers.url("?horizon=20s"), broken=broken, lead="20s", scheme=scheme)
        servers.save()
        crowd.start(2)
        # A new server takes a while, so the claims must be long: they double while they are used.
        until(lambda: shortest_s(servers.url("?horizon=20s"), scheme) > 10, "long claims")
        servers.put_back()
        crowd.start(2)
        crowd.progress()
        return crowd.repeats()


@RECORDS
@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_put_back(fleet, count, scheme):
    assert put_back(fleet, count, scheme=scheme) == 0


@canary
def test_that_test_can_see(fleet):
    assert put_back(fleet, 1, broken="unguarded_store") > 0
