"""etcd restored from a snapshot with all its ids, under live generators."""

import time

from tests.canary import canary
from tests.servers.etcd import etcd

KEY = {"key": "eA=="}


def restore(fleet, place, ahead="3s", broken=""):
    with etcd(1) as cluster:
        crowd = fleet(f"{cluster.url}?horizon={ahead}", broken=broken, lead=ahead)
        crowd.start(2)
        cluster.save(place / "snapshot")
        time.sleep(1.5)
        crowd.start(2)
        before = cluster.wait().ask("kv/range", KEY, 60)["header"]
        cluster.restore(place / "snapshot")
        after = cluster.wait().ask("kv/range", KEY, 60)["header"]
        assert after["cluster_id"] == before["cluster_id"]
        assert after["member_id"] == before["member_id"]
        crowd.progress()
        crowd.start(2)
        return crowd.repeats()


def test_restored_with_the_same_ids(fleet, place):
    assert restore(fleet, place) == 0


@canary
def test_this_test_can_see(fleet, place):
    # So far ahead that even a busy machine has restored it before the clock arrives there.
    assert restore(fleet, place, ahead="30s", broken="unguarded_store") > 0
