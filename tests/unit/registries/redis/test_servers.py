"""More than one plain server: replicas, disks, independent servers, a cluster, sockets and TLS."""

from contextlib import ExitStack

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.servers.redis import FLAVOURS, Cluster, Server, tls_server, until
from tests.tools.verbs import ONE_RECORD, TICKETS, begin, grant, new, release, renew
from tests.unit.registries.redis.test_registry import alter

NOTHING = LastSeen()


@pytest.fixture(scope="module", params=FLAVOURS)
def trio(request):
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(request.param)) for _ in range(4)]
        for replica in servers[1:]:
            replica.replicate(servers[0])
        yield servers


class TestReplicas:
    def test_fewer_than_half_is_refused(self, trio):
        with pytest.raises(ConfigError, match="3 replicas are connected"):
            grant(connect(f"{trio[0].url}?replicas=1", "x", ONE_RECORD))

    def test_too_few_there(self, trio):
        registry = connect(f"{trio[0].url}?replicas=4&timeout=1s", "y", ONE_RECORD)
        with pytest.raises(RegistryUnavailable, match=r"[0-3] of 4 replicas confirmed") as caught:
            grant(registry)
        assert not caught.value.outcome_known

    def test_members_must_agree_on_it(self, trio):
        new(f"{trio[0].url}?replicas=2", "agreed")
        with pytest.raises(ConfigError, match="confirmed by replicas"):
            grant(connect(trio[0].url, "agreed", ONE_RECORD))

    def test_a_replica_that_comes_back_is_another_history(self, trio):
        registry = new(f"{trio[0].url}?replicas=2&horizon=100ms", "back")
        claim = grant(registry)
        trio[3].promote()
        trio[3].replicate(trio[0])
        assert isinstance(renew(registry, claim), Lost)

    def test_another_history_while_it_answers(self, trio):
        registry = new(f"{trio[0].url}?replicas=2", "turn")
        honest = "    return { verb, ask.nonce, verbs.incarnation }"
        alter(registry, (honest, honest.replace("}", ".. '1' }")))
        with pytest.raises(RegistryUnavailable, match="changed its history"):
            grant(registry)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_replica_that_takes_writes(flavour):
    """What it gave, its primary would give again, and write over what it knows of it."""
    with Server(flavour) as primary, Server(flavour) as replica:
        members = [connect(server.url, "both", ONE_RECORD) for server in (primary, replica)]
        replica.replicate(primary)
        replica.do("CONFIG", "SET", "replica-read-only", "no")
        begin(members[0])
        claim = grant(members[0])
        until(members[1].holdings, "the claim on the replica")
        refusals = [
            lambda: grant(members[1]),
            lambda: renew(members[1], claim),
            lambda: release(members[1], claim, claim.start),
            lambda: begin(members[1]),
        ]
        for refused in refusals:
            with pytest.raises(RegistryUnavailable, match="point the URL at the primary"):
                refused()
        assert [holding.slot for holding in members[1].holdings()] == [claim.slot]
        assert isinstance(renew(members[0], claim), Claim)


class TestDurable:
    def test_it_must_be_true(self, server):
        with pytest.raises(ConfigError, match="set appendonly yes"):
            grant(connect(f"{server.url}?durable=1", "x", TICKETS))
        with (
            Server(persistent=True, appendfsync="everysec") as other,
            pytest.raises(ConfigError, match="set appendfsync always"),
        ):
            grant(connect(f"{other.url}?durable=1", "x", TICKETS))


class TestSeveral:
    @pytest.fixture
    def servers(self):
        with ExitStack() as stack:
            yield [stack.enter_context(Server(persistent=True)) for _ in range(3)]

    def url(self, servers, options="?horizon=1s&timeout=3s"):
        return f"redis://{','.join(f'127.0.0.1:{server.port}' for server in servers)}{options}"

    def test_claims_go_to_their_store_and_others_replace_it(self, servers):
        registry = new(self.url(servers), "x")
        claim = grant(registry)
        home = next(i for i, p in enumerate(registry.parts) if claim.slot in p.terms.slots)
        longer = renew(registry, claim)
        assert longer.until == claim.until + 5
        assert [h.slot for h in registry.holdings()] == [claim.slot]
        servers[home].kill()
        assert isinstance(renew(registry, longer), Lost)
        assert isinstance(release(registry, longer, longer.start), Lost)
        other = registry.grant(ask_of(longer.seen), 10)
        assert other.slot not in registry.parts[home].terms.slots
        found = registry.look()
        assert [holding.slot for holding in found.holdings] == [other.slot]
        (away,) = found.away
        assert f":{servers[home].port}" in away
        servers[home].start()
        assert isinstance(release(registry, longer, longer.start), Lost)

    def test_a_new_object_tells_a_store_that_it_forgot(self, servers):
        url = self.url(servers, "?horizon=10min&timeout=3s")
        registry = new(url, "x")
        claim = grant(registry, 500)
        for server in servers:
            server.do("FLUSHALL")
        fresh = connect(url, "x", ONE_RECORD)
        assert isinstance(renew(fresh, claim), Lost)
        wait = fresh.grant(ask_of(claim.seen), 5000)  # from the horizon on, so 5 s later a claim
        assert isinstance(wait, Wait)

    def test_another_order_is_refused(self, servers):
        new(self.url(servers), "x")
        with pytest.raises(ConfigError, match=r"store \d of 3"):
            grant(connect(self.url(servers[1:] + servers[:1]), "x", ONE_RECORD), 10)
        with pytest.raises(ConfigError, match="store 1 of 3"):
            grant(connect(servers[0].url + "?horizon=1s", "x", ONE_RECORD))

    def test_initialise_needs_all_servers(self, servers):
        registry = connect(self.url(servers), "x", ONE_RECORD)
        servers[1].kill()
        with pytest.raises(RegistryUnavailable):
            begin(registry)
        servers[1].start()
        assert registry.look() is None
        begin(registry)
        for start in (0, None):
            with pytest.raises(ConfigError, match="already"):
                begin(registry, start)

    def test_layouts_that_cannot_be_shared(self):
        with pytest.raises(ConfigError, match="cannot share"):
            connect("redis://a,b", "x", TICKETS)
        with pytest.raises(ConfigError, match="cannot share"):
            connect(
                "redis://a,b,c",
                "x",
                frazil.scheme("time:41 node:1 sequence:2 @1ms since 2025-01-01T00:00:00Z"),
            )


@pytest.fixture(scope="module", params=FLAVOURS)
def cluster(request):
    with Cluster(request.param) as cluster:
        yield cluster


class TestCluster:
    def test_every_node_leads_home(self, cluster):
        for number, server in enumerate(cluster.servers):
            registry = new(server.url, f"node {number}")
            claim = grant(registry)
            assert isinstance(renew(registry, claim), Claim)

    def test_nodes_are_no_independent_servers(self, cluster):
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in cluster.servers)
        with pytest.raises(ConfigError, match=r"add \?cluster=1"):
            grant(connect(f"redis://{hosts}", "x", ONE_RECORD))

    def test_a_server_is_not_a_cluster(self, server):
        with pytest.raises(ConfigError, match=r"leave out \?cluster=1"):
            grant(connect(f"{server.url}?cluster=1", "x", ONE_RECORD))

    def test_a_key_on_the_move(self, cluster):
        key = "frazil:{on the move}"
        registry = new(cluster.url + "&horizon=100ms", "on the move")
        claim = grant(registry)
        source = cluster.home(key)
        target = next(server for server in cluster.servers if server is not source)
        slot = source.do("CLUSTER", "KEYSLOT", key)
        target.do("CLUSTER", "SETSLOT", slot, "IMPORTING", source.do("CLUSTER", "MYID"))
        source.do("CLUSTER", "SETSLOT", slot, "MIGRATING", target.do("CLUSTER", "MYID"))
        source.do("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        assert isinstance(renew(registry, claim), Lost)
        for server in (target, source):
            server.do("CLUSTER", "SETSLOT", slot, "NODE", target.do("CLUSTER", "MYID"))
        reply = registry.grant(ask_of(claim.seen), 10)
        assert reply.seen.sid != claim.seen.sid  # a loss is noticed, and draws one
        assert reply.seen.revision > claim.seen.revision + 1


class TestWays:
    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_socket(self, flavour, tmp_path_factory):
        with Server(flavour) as server:
            path = server.place / "s"
            server.do("CONFIG", "GET", "port")
            server.options["unixsocket"] = str(path)
            server.restart()
            registry = new(f"unix://{path}?db=3", "x")
            assert isinstance(grant(registry), Claim)
            assert server.client(db=3).dbsize() == 1

    def test_tls(self, tmp_path):
        with tls_server(tmp_path) as (_, at, mine):
            way = f"{at}/0?ca={tmp_path}/ca.pem"
            registry = new(f"rediss://{way}&{mine}", "x")
            assert isinstance(grant(registry), Claim)
            for wrong in (
                f"rediss://{way}",  # shows no certificate of its own
                f"rediss://{at}?timeout=1s&{mine}",  # trusts nobody who knows it
                f"rediss://127.0.0.1:{way.partition(':')[2]}&{mine}",  # another name
            ):
                with pytest.raises(RegistryUnavailable) as caught:
                    grant(connect(wrong, "x", ONE_RECORD))
                assert caught.value.outcome_known
