"""Members of an etcd cluster killed, frozen and restored, under live generators."""

import signal
import time

from tests.canary import canary
from tests.faults.fleet import RECORDS
from tests.servers.etcd import etcd


@RECORDS
def test_leader_killed(fleet, scheme):
    with etcd(3) as cluster:
        crowd = fleet(f"{cluster.url}?horizon=2s", scheme=scheme)
        crowd.start(4)
        for _ in range(2):
            leader = cluster.wait()
            leader.kill9()
            crowd.progress()
            cluster.restart(leader)
        crowd.start(2)
        assert crowd.repeats() == 0


def test_members_frozen_in_turn(fleet):
    """A frozen member accepts connections and does not answer; one of them is the leader."""
    with etcd(3) as cluster:
        crowd = fleet(f"{cluster.url}?horizon=2s")
        crowd.start(3)
        for member in cluster.members:
            member.signal(signal.SIGSTOP)
            time.sleep(2.5)
            crowd.progress()
            member.signal(signal.SIGCONT)
        crowd.start(2)
        assert crowd.repeats() == 0


def test_without_a_majority_nothing_is_given(fleet):
    with etcd(3) as cluster:
        crowd = fleet(f"{cluster.url}?horizon=2s")
        crowd.start(3)
        for member in cluster.members[:2]:
            member.kill9()
        crowd.wait_for_error("no claim since")
        for member in cluster.members[:2]:
            cluster.restart(member)
        crowd.progress()
        assert crowd.repeats() == 0


KEY = {"key": "eA=="}


def restore(fleet, place, ahead="3s", **options):
    """Two hold claims that the snapshot lacks, and are stopped until two more have started."""
    with etcd(1) as cluster:
        for _ in range(100):  # or the log may be as long again before a member connects
            cluster.wait().ask("kv/put", KEY, 60)
        crowd = fleet(f"{cluster.url}?horizon={ahead}", lead=ahead, **options)
        crowd.start(2)
        cluster.save(place / "snapshot")
        crowd.start(2)
        time.sleep(4)  # so that their claims are longer than the restore takes
        before = cluster.wait().ask("kv/range", KEY, 60)["header"]
        for name in ("w2", "w3"):
            crowd.signal(name, signal.SIGSTOP)
        cluster.restore(place / "snapshot")
        after = cluster.wait().ask("kv/range", KEY, 60)["header"]
        assert all(after[name] == before[name] for name in ("cluster_id", "member_id"))
        crowd.start(2)
        for name in ("w2", "w3"):
            crowd.signal(name, signal.SIGCONT)
        crowd.progress()
        return crowd.repeats()


@RECORDS
def test_restored_with_the_same_ids(fleet, place, scheme):
    assert restore(fleet, place, scheme=scheme) == 0


@canary
@RECORDS
def test_this_test_can_see(fleet, place, scheme):
    # So far ahead that even a busy machine has restored it before the clock arrives there.
    assert restore(fleet, place, ahead="30s", broken="unguarded_store", scheme=scheme) > 0
