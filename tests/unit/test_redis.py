"""The Redis and Valkey registry: what its URL says, what it refuses, and what it makes of errors."""

import hashlib
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

import frazil
from frazil.claim import Ask, Claim, Lost, Seen, Wait
from frazil.errors import ConfigError, LayoutExhausted, RegistryUnavailable
from frazil.keeper import ask_of
from frazil.registries import connect
from frazil.registries.redis_link import Script
from tests.servers.redis import FLAVOURS, Cluster, Server, free_port

ICICLE = frazil.scheme("icicle")
TICKETS = frazil.scheme("tickets")
NOTHING = Seen()


@pytest.fixture(scope="module", params=FLAVOURS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture
def registry(server, request):
    registry = connect(server.url, request.node.name, ICICLE)
    registry.initialise(ask_of(NOTHING), 0)
    return registry


def grant(registry, want=10):
    return registry.grant(ask_of(NOTHING), want)


class TestVerbs:
    def test_a_claim_from_beginning_to_end(self, registry):
        claim = grant(registry, 100)
        assert isinstance(claim, Claim)
        assert claim.until - claim.start == 100
        longer = registry.renew(ask_of(claim.seen, claim), claim.until + 100)
        assert (longer.start, longer.until) == (claim.start, claim.until + 100)
        (holding,) = registry.holdings()
        assert holding.held
        assert holding.holder.endswith(f":{os.getpid()}")
        assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start + 1), Seen)
        (holding,) = registry.holdings()
        assert (holding.held, holding.until) == (False, claim.start + 1)
        assert isinstance(registry.renew(ask_of(longer.seen, longer), longer.until), Lost)

    def test_a_grant_is_one_round_trip(self, registry, server):
        grant(registry)
        server.do("CONFIG", "RESETSTAT")
        for _ in range(10):
            grant(registry)
        commands = server.info("commandstats")
        called = {name for name in commands if commands[name]["calls"] >= 10}
        inside = {"cmdstat_hmget", "cmdstat_hget", "cmdstat_hset", "cmdstat_time"}
        assert called - inside == {"cmdstat_evalsha", "cmdstat_info"}
        assert commands["cmdstat_evalsha"]["calls"] == 10
        assert commands["cmdstat_info"]["calls"] == 20
        assert commands["cmdstat_hset"]["calls"] == 10

    def test_holdings_write_nothing(self, server):
        registry = connect(server.url, "nobody asked yet", ICICLE)
        assert registry.holdings() == []
        assert server.do("EXISTS", "frazil:{nobody asked yet}") == 0

    def test_a_counter_counts_past_what_lua_can(self, server):
        registry = connect(server.url, "wide", TICKETS)
        start = (1 << 62) - 25
        registry.initialise(ask_of(NOTHING), start)
        claims = [grant(registry), grant(registry)]
        assert [(c.start, c.until) for c in claims] == [
            (start, start + 10),
            (start + 10, start + 20),
        ]
        assert grant(registry).until == 1 << 62
        with pytest.raises(LayoutExhausted):
            grant(registry)

    def test_a_counter_that_is_missing(self, server):
        with pytest.raises(ConfigError, match="frazil init URL --start N"):
            grant(connect(server.url, "no counter", TICKETS))

    def test_the_script_is_sent_when_it_is_forgotten(self, registry, server):
        before = grant(registry)
        server.do("SCRIPT", "FLUSH")
        assert isinstance(registry.renew(ask_of(before.seen, before), before.until + 5), Claim)

    def test_a_restart_between_verbs_goes_unnoticed_by_callers(self):
        with Server(persistent=True) as server:
            registry = connect(f"{server.url}?horizon=200ms", "x", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            claim = grant(registry)
            server.restart()
            reply = registry.grant(ask_of(claim.seen), 10)
            assert isinstance(reply, Wait)  # the guard: what it has may not be all there was
            assert reply.seen.sid == claim.seen.sid


class TestForks:
    def test_a_child_has_a_connection_of_its_own(self, registry, server):
        grant(registry)
        mine = clients(server)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            ended = isinstance(grant(registry), Claim) and len(clients(server) - mine) == 1
            os.write(writer, b"+" if ended else b"-")
            os._exit(0)
        assert os.read(reader, 1) == b"+"
        assert os.waitpid(child, 0)[1] == 0
        assert isinstance(grant(registry), Claim)
        assert clients(server) == mine


def clients(server):
    """The connections that run the script."""
    lines = server.client().client_list()
    return {line["id"] for line in lines if line["cmd"] == "evalsha"}


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "places"),
        [
            ("redis://one", (("one", 6379),)),
            ("valkey://one:7000/3", (("one", 7000),)),
            ("redis://", (("localhost", 6379),)),
            ("rediss://me:secret@one", (("one", 6379),)),
            ("valkeys://one", (("one", 6379),)),
            ("redis://[::1]:7000", (("::1", 7000),)),
            ("redis://one,two:7001?cluster=1", (("one", 6379), ("two", 7001))),
            ("unix:///run/redis.sock?db=2", ("/run/redis.sock",)),
            ("unix:/run/a%20b.sock", ("/run/a b.sock",)),
        ],
    )
    def test_places(self, url, places):
        assert connect(url, "x", ICICLE).link.access.places == places

    def test_options(self):
        url = "rediss://me:p%40ss@one/4?timeout=250ms&replicas=2&ca=/ca.pem&cert=/c&key=/k"
        access = connect(url, "x", ICICLE).link.access
        assert (access.tls, access.timeout_s, access.replicas) == (True, 0.25, 2)
        assert access.options == {
            "db": 4,
            "username": "me",
            "password": "p@ss",
            "ssl_check_hostname": True,
            "ssl_ca_certs": "/ca.pem",
            "ssl_certfile": "/c",
            "ssl_keyfile": "/k",
        }

    @pytest.mark.parametrize(
        ("url", "problem"),
        [
            ("redis://one?horizont=5s", "unknown option horizont"),
            ("redis://one:port", "port 'port' is no number"),
            ("redis://one/first", "database 'first' is no number"),
            ("redis://one?replicas=-1", "not a whole number"),
            ("redis://one,one", "named twice"),
            ("unix://", "path"),
            ("redis://one?ca=/x", "unknown option ca"),
        ],
    )
    def test_what_is_none(self, url, problem):
        with pytest.raises(ConfigError, match=problem):
            connect(url, "x", ICICLE)

    def test_a_password_is_never_shown(self):
        for url in ("redis://me:secret@one,two/1", "redis://:secret@one"):
            registry = connect(url, "x", ICICLE)
            assert "secret" not in registry.url
            assert ":***@one" in registry.url
            assert "secret" not in repr(getattr(registry, "link", registry.url))

    def test_a_missing_driver_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "redis", None)
        with pytest.raises(ConfigError, match=r'pip install "frazil\[redis\]"'):
            connect("redis://one", "x", ICICLE)

    def test_ticks_that_a_script_cannot_count(self):
        wide = "time:60 node:2 @1us since 1600-01-01T00:00:00Z"
        with pytest.raises(ConfigError, match="2\\^53 by the year 2200"):
            connect("redis://one", "x", frazil.scheme(wide))
        connect("redis://one", "x", frazil.scheme(wide.replace("1600", "2020")))


class TestErrors:
    """Each says what to do, and whether the store may have done it all the same."""

    def refusal(self, url, kind, scheme=ICICLE):
        with pytest.raises(kind) as caught:
            grant(connect(url, "errors", scheme))
        return caught.value

    def test_nobody_there(self):
        error = self.refusal(f"redis://127.0.0.1:{free_port()}", RegistryUnavailable)
        assert error.outcome_known
        assert "see that it runs" in str(error)

    def test_no_answer(self):
        with Server() as server:
            registry = connect(f"{server.url}?timeout=100ms", "x", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            server.freeze()
            with pytest.raises(RegistryUnavailable, match="no answer in time") as caught:
                grant(registry)
            assert not caught.value.outcome_known
            with pytest.raises(RegistryUnavailable) as caught:
                grant(registry)
            assert caught.value.outcome_known  # it did not even connect
            server.thaw()
            assert isinstance(grant(registry), Claim)

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_passwords_and_rights(self, flavour):
        with Server(flavour, requirepass="open sesame") as server:
            one = server.client(password="open sesame")
            rights = "+eval +evalsha +info +time +hmget +hget +hset".split()
            one.acl_setuser("id", enabled=True, passwords="+pw", keys=["frazil:*"], commands=rights)
            here = f"127.0.0.1:{server.port}"
            for url in (f"redis://{here}", f"redis://id:no@{here}", f"redis://:no@{here}"):
                assert "redis://USER:PASSWORD@host" in str(self.refusal(url, ConfigError))
            assert isinstance(grant(connect(f"redis://:open%20sesame@{here}", "x", ICICLE)), Wait)
            registry = connect(f"redis://id:pw@{here}", "y", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            claim = grant(registry)
            longer = registry.renew(ask_of(claim.seen, claim), claim.until + 5)
            assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start), Seen)
            with pytest.raises(ConfigError, match="lacks a right.*hgetall"):
                registry.holdings()
            for right in rights:
                one.acl_setuser("id", reset=True, enabled=True, passwords="+pw", keys=["frazil:*"],
                                commands=[each for each in rights if each != right])
                self.refusal(f"redis://id:pw@{here}?timeout=1s", ConfigError)

    def test_a_replica(self, server):
        with Server(server.flavour) as replica:
            replica.replicate(server)
            error = self.refusal(replica.url, RegistryUnavailable)
            assert "point the URL at the primary" in str(error)
            assert error.outcome_known

    def test_no_memory(self):
        with Server(maxmemory="1") as server:
            error = self.refusal(server.url, RegistryUnavailable)
            assert "raise maxmemory" in str(error)
            assert error.outcome_known
            assert server.do("DBSIZE") == 0

    def test_eviction_of_what_is_in_use(self):
        for policy in ("allkeys-lru", "allkeys-lfu", "allkeys-random"):
            with Server(maxmemory_policy=policy) as server:
                assert policy in str(self.refusal(server.url, ConfigError))
        with Server(maxmemory_policy="volatile-lru") as server:
            assert isinstance(grant(connect(server.url, "x", ICICLE)), Wait)

    def test_no_disk(self):
        with Server(save="3600 1", enable_protected_configs="yes") as server:
            (server.place / "gone").mkdir()
            server.do("CONFIG", "SET", "dir", str(server.place / "gone"))
            (server.place / "gone").rmdir()
            server.do("SET", "x", 1)
            server.do("BGSAVE")
            while server.info("persistence")["rdb_bgsave_in_progress"]:
                pass
            error = self.refusal(server.url, RegistryUnavailable)
            assert "cannot write to its disk" in str(error)

    def test_something_else_under_the_key(self, server):
        server.do("SET", "frazil:{errors}", "mine")
        assert "choose another namespace" in str(self.refusal(server.url, ConfigError))
        server.do("DEL", "frazil:{errors}")

    def test_other_members(self, registry):
        other = connect(registry.url, registry.namespace, frazil.scheme("snowflake"))
        before = registry.mint(ask_of(NOTHING), 1)
        with pytest.raises(ConfigError, match="other members"):
            grant(other)
        after = registry.mint(ask_of(NOTHING), 1)
        assert after.seen.revision == before.seen.revision + 1

    def test_a_record_of_a_newer_frazil(self, registry, server):
        newer = server.client().eval("return cmsgpack.pack({2, '0'})", 0)
        server.client().hset(f"frazil:{{{registry.namespace}}}", "head", newer)
        with pytest.raises(ConfigError, match=r"newer frazil \(format 2\)"):
            grant(registry)

    @pytest.mark.parametrize(
        ("honest", "wrong"),
        [
            ("    kind, ask.nonce,", "    kind, 'another',"),
            ("    kind, ask.nonce,", "    'wait', ask.nonce,"),
            ("text(n), token, from", "text(n), token .. 'x', from"),
            ("text(n), token, from", "text(n + 1024), token, from"),
        ],
    )
    def test_an_answer_to_another_question(self, registry, server, honest, wrong):
        source = registry.link.script.source
        assert honest in source
        source = source.replace(honest, wrong)
        if wrong.startswith("    'wait'"):
            source = source.replace("text(n), token, from, to", "'12'")
            wait = True
        else:
            wait = False
        registry.link.script = Script(source, hashlib.sha1(source.encode()).hexdigest())
        if wait:
            assert grant(registry).wait_us == 12_000
            return
        with pytest.raises(RegistryUnavailable, match="another question") as caught:
            grant(registry)
        assert not caught.value.outcome_known
        assert not registry.link._idle


class TestReplicas:
    @pytest.fixture(scope="class", params=FLAVOURS)
    def trio(self, request):
        with ExitStack() as stack:
            servers = [stack.enter_context(Server(request.param)) for _ in range(4)]
            for replica in servers[1:]:
                replica.replicate(servers[0])
            yield servers

    def test_fewer_than_half_is_refused(self, trio):
        with pytest.raises(ConfigError, match="3 replicas are connected"):
            grant(connect(f"{trio[0].url}?replicas=1", "x", ICICLE))

    def test_too_few_there(self, trio):
        registry = connect(f"{trio[0].url}?replicas=4&timeout=200ms", "y", ICICLE)
        with pytest.raises(RegistryUnavailable, match="3 of 4 replicas confirmed") as caught:
            grant(registry)
        assert not caught.value.outcome_known

    def test_a_confirmed_grant(self, trio):
        registry = connect(f"{trio[0].url}?replicas=2", "z", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        claim = grant(registry)
        longer = registry.renew(ask_of(claim.seen, claim), claim.until + 5)
        assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start), Seen)

    def test_members_must_agree_on_it(self, trio):
        connect(f"{trio[0].url}?replicas=2", "agreed", ICICLE).initialise(ask_of(NOTHING), 0)
        with pytest.raises(ConfigError, match="confirmed by replicas"):
            grant(connect(trio[0].url, "agreed", ICICLE))

    def test_a_replica_that_comes_back_is_another_history(self, trio):
        registry = connect(f"{trio[0].url}?replicas=2&horizon=100ms", "back", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        claim = grant(registry)
        trio[3].promote()
        trio[3].replicate(trio[0])
        assert isinstance(registry.renew(ask_of(claim.seen, claim), claim.until + 5), Lost)

    def test_another_history_while_it_answers(self, trio):
        registry = connect(f"{trio[0].url}?replicas=2", "turn", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        honest = registry.link.script.source
        turning = honest.replace(
            "    return { verb, ask.nonce, verbs.incarnation }",
            "    return { verb, ask.nonce, verbs.incarnation .. '1' }",
        )
        assert turning != honest
        registry.link.script = Script(turning, hashlib.sha1(turning.encode()).hexdigest())
        with pytest.raises(RegistryUnavailable, match="changed its history"):
            grant(registry)


class TestDurable:
    def test_a_counter_and_a_restart(self):
        with Server(persistent=True) as server:
            registry = connect(server.url, "plain", TICKETS)
            durable = connect(f"{server.url}?durable=1", "durable", TICKETS)
            for each in (registry, durable):
                each.initialise(ask_of(NOTHING), 7)
                assert grant(each).start == 7
            server.restart()
            with pytest.raises(ConfigError, match="store of this counter was replaced"):
                grant(registry)
            assert grant(durable).start == 17

    def test_it_must_be_true(self, server):
        with pytest.raises(ConfigError, match="set appendonly yes"):
            grant(connect(f"{server.url}?durable=1", "x", TICKETS))
        with Server(persistent=True, appendfsync="everysec") as other:
            with pytest.raises(ConfigError, match="set appendfsync always"):
                grant(connect(f"{other.url}?durable=1", "x", TICKETS))


class TestSeveral:
    @pytest.fixture
    def servers(self):
        with ExitStack() as stack:
            yield [stack.enter_context(Server(persistent=True)) for _ in range(3)]

    def url(self, servers, options="?horizon=1s&timeout=300ms"):
        return f"redis://{','.join(f'127.0.0.1:{server.port}' for server in servers)}{options}"

    def test_shares(self, servers):
        registry = connect(self.url(servers), "x", ICICLE)
        shares = [part.terms.slots for part in registry.parts]
        assert [n for share in shares for n in share] == list(range(1024))
        assert registry.terms.slots == range(1024)
        assert {len(share) for share in shares} == {341, 342}

    def test_claims_go_home_and_others_step_in(self, servers):
        registry = connect(self.url(servers), "x", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        claim = grant(registry)
        home = next(i for i, p in enumerate(registry.parts) if claim.slot in p.terms.slots)
        longer = registry.renew(ask_of(claim.seen, claim), claim.until + 5)
        assert longer.until == claim.until + 5
        assert [h.slot for h in registry.holdings()] == [claim.slot]
        servers[home].kill()
        assert isinstance(registry.renew(ask_of(longer.seen, longer), longer.until + 5), Lost)
        assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start), Lost)
        other = registry.grant(ask_of(longer.seen), 10)
        assert other.slot not in registry.parts[home].terms.slots
        with pytest.raises(RegistryUnavailable):
            registry.holdings()
        servers[home].start()
        assert isinstance(registry.release(ask_of(longer.seen, longer), longer.start), Lost)

    def test_nobody_there(self, servers):
        registry = connect(self.url(servers), "x", ICICLE)
        for server in servers:
            server.kill()
        with pytest.raises(RegistryUnavailable):
            grant(registry)

    def test_what_is_remembered_of_one_is_not_told_to_another(self, servers):
        """It would be taken for a loss there, and end all claims."""
        registry = connect(self.url(servers), "x", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        seen, claims = NOTHING, []
        for number in range(3):
            registry._at = number
            claims.append(registry.grant(ask_of(seen), 10))
            seen = claims[-1].seen
        for claim in claims:
            reply = registry.renew(ask_of(seen, claim), claim.until + 1)
            assert isinstance(reply, Claim)
            seen = reply.seen

    def test_a_store_that_forgot_is_told_by_a_new_object(self, servers):
        url = self.url(servers)
        registry = connect(url, "x", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        claim = grant(registry, 500)
        for server in servers:
            server.do("FLUSHALL")
        fresh = connect(url, "x", ICICLE)
        assert isinstance(fresh.renew(ask_of(claim.seen, claim), claim.until + 5), Lost)
        wait = fresh.grant(ask_of(claim.seen), 10)
        assert isinstance(wait, Wait)

    def test_another_order_is_refused(self, servers):
        connect(self.url(servers), "x", ICICLE).initialise(ask_of(NOTHING), 0)
        with pytest.raises(ConfigError, match="store 1 of 3"):
            grant(connect(self.url(servers[::-1]), "x", ICICLE), 10)
        with pytest.raises(ConfigError, match="store 1 of 3"):
            grant(connect(servers[0].url + "?horizon=1s", "x", ICICLE))

    def test_initialise_goes_on_where_it_stopped(self, servers):
        registry = connect(self.url(servers), "x", ICICLE)
        servers[1].kill()
        with pytest.raises(RegistryUnavailable):
            registry.initialise(ask_of(NOTHING), 0)
        servers[1].start()
        registry.initialise(ask_of(NOTHING), 0)
        with pytest.raises(ConfigError, match="already"):
            registry.initialise(ask_of(NOTHING), 0)

    def test_what_cannot_be_shared(self):
        with pytest.raises(ConfigError, match="cannot share"):
            connect("redis://a,b", "x", TICKETS)
        with pytest.raises(ConfigError, match="cannot share"):
            connect("redis://a,b,c", "x", frazil.scheme("time:41 node:1 sequence:2 @1ms since 2025-01-01T00:00:00Z"))


class TestCluster:
    @pytest.fixture(scope="class", params=FLAVOURS)
    def cluster(self, request):
        with Cluster(request.param) as cluster:
            yield cluster

    def test_every_node_leads_home(self, cluster):
        for number, server in enumerate(cluster.servers):
            registry = connect(server.url, f"node {number}", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            claim = grant(registry)
            assert isinstance(registry.renew(ask_of(claim.seen, claim), claim.until + 5), Claim)

    def test_nodes_are_no_independent_servers(self, cluster):
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in cluster.servers)
        with pytest.raises(ConfigError, match=r"add \?cluster=1"):
            grant(connect(f"redis://{hosts}", "x", ICICLE))

    def test_a_server_is_no_cluster(self, server):
        with pytest.raises(ConfigError, match=r"leave out \?cluster=1"):
            grant(connect(f"{server.url}?cluster=1", "x", ICICLE))

    def test_a_key_on_the_move(self, cluster):
        key = "frazil:{on the move}"
        registry = connect(cluster.url + "&horizon=100ms", "on the move", ICICLE)
        registry.initialise(ask_of(NOTHING), 0)
        claim = grant(registry)
        source = cluster.home(key)
        target = next(server for server in cluster.servers if server is not source)
        slot = source.do("CLUSTER", "KEYSLOT", key)
        target.do("CLUSTER", "SETSLOT", slot, "IMPORTING", source.do("CLUSTER", "MYID"))
        source.do("CLUSTER", "SETSLOT", slot, "MIGRATING", target.do("CLUSTER", "MYID"))
        source.do("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        assert isinstance(registry.renew(ask_of(claim.seen, claim), claim.until + 5), Lost)
        for server in (target, source):
            server.do("CLUSTER", "SETSLOT", slot, "NODE", target.do("CLUSTER", "MYID"))
        reply = registry.grant(ask_of(claim.seen), 10)
        assert reply.seen.sid == claim.seen.sid
        assert reply.seen.revision > claim.seen.revision + 1


class TestWays:
    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_socket(self, flavour, tmp_path_factory):
        with Server(flavour) as server:
            path = server.place / "s"
            server.do("CONFIG", "GET", "port")
            server.options["unixsocket"] = str(path)
            server.restart()
            registry = connect(f"unix://{path}?db=3", "x", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            assert isinstance(grant(registry), Claim)
            assert server.client(db=3).dbsize() == 1

    def test_tls(self, tmp_path):
        make_certificates(tmp_path)
        port = free_port()
        with Server(
            "redis",  # the Valkey of the wheel is built without
            tls_port=port,
            tls_cert_file=str(tmp_path / "server.pem"),
            tls_key_file=str(tmp_path / "server.key"),
            tls_ca_cert_file=str(tmp_path / "ca.pem"),
        ):
            way = f"localhost:{port}/0?ca={tmp_path}/ca.pem"
            mine = f"&cert={tmp_path}/server.pem&key={tmp_path}/server.key"
            registry = connect(f"rediss://{way}{mine}", "x", ICICLE)
            registry.initialise(ask_of(NOTHING), 0)
            assert isinstance(grant(registry), Claim)
            for wrong in (
                f"rediss://{way}",  # shows no certificate of its own
                f"rediss://localhost:{port}?timeout=1s{mine}",  # trusts nobody who knows it
                f"rediss://127.0.0.1:{way.partition(':')[2]}{mine}",  # another name
            ):
                with pytest.raises(RegistryUnavailable) as caught:
                    grant(connect(wrong, "x", ICICLE))
                assert caught.value.outcome_known


def make_certificates(place):
    """An authority and a certificate for ``localhost``."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True)

    new = ["req", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority")
    openssl(*new, "-keyout", "server.key", "-out", "request", "-subj", "/CN=localhost")
    (place / "names").write_text("subjectAltName=DNS:localhost\n")
    sign = ["x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key"]
    openssl(*sign, "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem")


def test_an_ask_without_a_claim(server):
    registry = connect(server.url, "x", ICICLE)
    registry.initialise(ask_of(NOTHING), 0)
    with pytest.raises(ConfigError, match="need the claim"):
        registry.renew(Ask(NOTHING, 0, "t"), 5)
