"""A replica that missed writes takes over; an old primary continues beside its successor."""

import time
from contextlib import ExitStack

import pytest

from tests.canary import canary
from tests.faults.failovers import FOUR, repeats
from tests.faults.fleet import UNHURRIED
from tests.servers.redis import BY_NIGHT, Cluster, Server


def two_primaries(fleet, flavour, replicas):
    """Three servers; the second is promoted and followed by the third, and the first continues."""
    with ExitStack() as stack:
        old, new, third = (stack.enter_context(Server(flavour)) for _ in range(3))
        options = f"?horizon=500ms&timeout=1s&replicas={replicas}"
        new.replicate(old)
        third.replicate(old)
        crowd = fleet(old.url + options, lead="500ms")
        crowd.start(2)
        new.promote()
        third.replicate(new)
        crowd.url = new.url + options
        crowd.start(2)
        if replicas:
            crowd.wait_for_error("0 of 1 replicas confirmed")
        else:
            crowd.progress()
        time.sleep(3)
        return crowd.repeats()


def test_two_primaries_repeat_without_confirmation(fleet):
    """The documented limit, and the proof that the next test could see one repeat."""
    assert two_primaries(fleet, "valkey", 0) > 0


@pytest.mark.parametrize("flavour", BY_NIGHT)
def test_two_primaries_with_confirmation(fleet, flavour):
    assert two_primaries(fleet, flavour, 1) == 0


@pytest.mark.parametrize("flavour", BY_NIGHT)
def test_a_cluster_loses_a_primary(fleet, flavour):
    with Cluster(flavour, replicas=1) as cluster:
        crowd = fleet(f"{cluster.url}&horizon=2s&timeout=500ms", lead="2s")
        crowd.start(2)
        cluster.home("frazil:{default}").kill()
        crowd.progress()
        crowd.start(2)
        crowd.progress()
        assert crowd.repeats() == 0


def test_one_of_three_independent_servers_is_unavailable(fleet):
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(persistent=True)) for _ in range(3)]
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        crowd = fleet(
            f"redis://{hosts}?horizon=2s&timeout=500ms", lead="2s", scheme=FOUR, timeout=UNHURRIED
        )
        crowd.start(3)
        for server in servers:
            server.kill()
            crowd.progress()
            crowd.start(1)
            server.start()
        assert crowd.repeats() == 0
        assert crowd.errors() == ""


CASES = [
    *(("redis", 0, "any"), ("confirmed", 4, "any")),
    *(("postgresql", 4, "new"), ("confirmed", 4, "stopped")),
]


@pytest.mark.parametrize(("store", "behind_s", "first"), CASES)
def test_a_successor_that_is_behind(fleet, store, behind_s, first):
    assert repeats(fleet, store, behind_s, first=first) == 0


def test_a_replica_without_confirmation_that_lost_one_renewal(fleet):
    assert repeats(fleet, "redis", 1.5, missed_s=0.7) == 0


BROKEN = [
    *(("redis", 4, "unguarded_script"), ("confirmed", 4, "unguarded_script")),
    ("postgresql", 4, "unguarded_store"),
]


@canary
@pytest.mark.parametrize(("store", "behind_s", "broken"), BROKEN)
def test_this_test_can_see(fleet, store, behind_s, broken):
    assert repeats(fleet, store, behind_s, first="new", broken=broken) > 0
