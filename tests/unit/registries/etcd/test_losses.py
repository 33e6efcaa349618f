"""What the etcd registry makes of a cluster put back to a snapshot, and of a key put back."""

import secrets

import pytest

from frazil.claims.claim import Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect
from tests.servers import etcd as servers
from tests.tools.proxy import Proxy
from tests.tools.verbs import ONE_RECORD, TICKETS, grant, mint, new


@pytest.fixture
def own_cluster():
    """One that the test may put back to a snapshot: its log is longer than that of a new one."""
    with servers.etcd(1) as running:
        grow(running)
        yield running


@pytest.fixture
def name(request):
    return f"{request.node.name}-{secrets.token_hex(4)}"


def grow(cluster, count=40):
    """Make the cluster's log longer."""
    for _ in range(count):
        cluster.members[0].ask("kv/put", {"key": "eA=="})


def test_a_restore_under_what_a_member_keeps(tmp_path, name):
    """The member that was last to write before the snapshot comes back first."""
    with servers.etcd(1) as cluster:
        holder = new(cluster.url, name)
        idle = connect(cluster.url, name, ONE_RECORD)
        for _ in range(20):
            mint(idle)
        cluster.save(tmp_path / "snapshot")
        claim = grant(holder, 4000)
        cluster.restore(tmp_path / "snapshot")
        reply = grant(idle, 1)
        assert isinstance(reply, Wait) or reply.start >= claim.until


def test_the_log_is_noted_as_it_grows(tmp_path, name):
    """By other programs, since the member connected; the log of a restored cluster is shorter."""
    with servers.etcd(1) as cluster:
        holder = new(cluster.url, name)
        mint(holder)
        grow(cluster, 400)
        mint(holder)  # its answer tells of the others' writes
        mint(holder)
        cluster.save(tmp_path / "snapshot")
        grant(holder, 4000)
        cluster.restore(tmp_path / "snapshot")
        grow(cluster, 100)
        assert isinstance(grant(connect(cluster.url, name, ONE_RECORD), 1), Wait)


def restored(cluster, place, *registries):
    """Put the cluster back to before the last values that the registries gave."""
    for registry in registries:
        mint(registry, 5)
    cluster.save(place / "snapshot")
    last = [mint(registry, 5000) for registry in registries]
    cluster.restore(place / "snapshot")
    return last


def refused(registry):
    with pytest.raises(ConfigError, match=r"was replaced.*--forward"):
        mint(registry, 5)


def test_a_later_process_learns_of_a_loss_that_others_saw(own_cluster, tmp_path, name):
    restored(own_cluster, tmp_path, new(own_cluster.url, name, TICKETS, 1))
    first = connect(own_cluster.url, name, TICKETS)
    assert first.examine().server.startswith("etcd")  # a doctor's look notes nothing
    refused(first)
    grow(own_cluster, 120)  # the new log is longer than the old one was
    refused(connect(own_cluster.url, name, TICKETS))


def test_a_ticket_does_not_use_up_the_notice(own_cluster, tmp_path, name):
    restored(own_cluster, tmp_path, new(own_cluster.url, name, TICKETS, 1))
    registry = connect(own_cluster.url, name, TICKETS)
    registry._queue(registry.key(), 0.0)  # over a new connection, before the record is read
    refused(registry)


def test_each_namespace_of_a_process_notices_for_itself(own_cluster, tmp_path, name):
    both = [new(own_cluster.url, f"{name}-{n}", TICKETS, 1) for n in range(2)]
    restored(own_cluster, tmp_path, *both)
    later = [connect(each.url, each.namespace, TICKETS) for each in both]
    for registry in (*later, *both, *both):
        refused(registry)


def test_a_reply_that_is_lost_does_not_use_up_the_notice(own_cluster, tmp_path, name):
    restored(own_cluster, tmp_path, new(own_cluster.url, name, TICKETS, 1))
    with Proxy(own_cluster.members[0].port) as wire:
        registry = connect(f"etcd://127.0.0.1:{wire.port}", name, TICKETS)
        with wire.losing_replies(after=b"request_range"), pytest.raises(RegistryUnavailable):
            mint(registry)
        refused(registry)
        refused(registry)
