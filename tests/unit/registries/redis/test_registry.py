"""The Redis and Valkey registry: what its URL says, what it refuses, what it makes of errors."""

import hashlib
import sys
from weakref import ref

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.redis_link.access import Script
from frazil.redis_link.link import Link
from frazil.registries import connect
from tests.servers.redis import FLAVOURS, Server
from tests.tools.verbs import ONE_RECORD, grant, new, release, renew

NOTHING = LastSeen()


@pytest.fixture
def registry(server, request):
    return new(server.url, request.node.name)


@pytest.mark.parametrize(
    ("field", "value"),
    [("head", "x"), ("head", ""), ("touched:0", "1e308"), ("touched:0", "nan"), ("page:0:0", "")],
)
def test_a_damaged_record_is_reported_at_once(registry, server, field, value):
    grant(registry)
    server.do("HSET", f"frazil:{{{registry.namespace}}}", field, value)
    with pytest.raises(ConfigError, match="are damaged; DEL the key"):
        grant(registry)
    server.do("DEL", f"frazil:{{{registry.namespace}}}")
    assert isinstance(grant(registry), Claim | Wait)


def test_a_dropped_link_closes_its_connection_at_once(server):
    """An error reply, here NOSCRIPT, would keep it until garbage is collected, in any order."""
    registry = new(server.url, "dropped")
    server.do("SCRIPT", "FLUSH")
    grant(registry)
    link = ref(registry.link)
    del registry
    assert link() is None


class TestVerbs:
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
        registry = connect(server.url, "nobody asked yet", ONE_RECORD)
        assert registry.holdings() == []
        assert server.do("EXISTS", "frazil:{nobody asked yet}") == 0


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
        assert connect(url, "x", ONE_RECORD).link.access.places == places

    def test_options(self):
        url = "rediss://me:p%40ss@one/4?timeout=250ms&replicas=2&ca=/ca.pem&cert=/c&key=/k"
        access = connect(url, "x", ONE_RECORD).link.access
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

    def test_a_missing_driver_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "redis", None)
        with pytest.raises(ConfigError, match=r'pip install "\.\[redis\]"'):
            connect("redis://one", "x", ONE_RECORD)

    def test_ticks_that_a_script_cannot_count(self):
        wide = "time:60 node:2 @1us since 1600-01-01T00:00:00Z"
        with pytest.raises(ConfigError, match="2\\^53 by the year 2200"):
            connect("redis://one", "x", frazil.scheme(wide))
        connect("redis://one", "x", frazil.scheme(wide.replace("1600", "2020")))


def alter(registry, *changes):
    """Replace texts of its script."""
    source = registry.link.script.source
    for honest, wrong in changes:
        assert honest in source
        source = source.replace(honest, wrong)
    script = Script(source, hashlib.sha1(source.encode()).hexdigest())
    registry.link = Link(registry.link.access, script)


class TestErrors:
    """Each says what to do, and whether the store may have done it all the same."""

    def refusal(self, url, kind, scheme=ONE_RECORD):
        with pytest.raises(kind) as caught:
            grant(connect(url, "errors", scheme))
        return caught.value

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_passwords_and_rights(self, flavour):
        with Server(flavour, requirepass="'open sesame'") as server:
            one = server.client(password="open sesame")
            rights = ["+eval", "+evalsha", "+info", "+time", "+hmget", "+hset"]
            one.acl_setuser("id", enabled=True, passwords="+pw", keys=["frazil:*"], commands=rights)
            here = f"127.0.0.1:{server.port}"
            for url in (f"redis://{here}", f"redis://id:no@{here}", f"redis://:no@{here}"):
                assert "redis://USER:PASSWORD@host" in str(self.refusal(url, ConfigError))
            assert isinstance(
                grant(connect(f"redis://:open%20sesame@{here}", "x", ONE_RECORD)), Wait
            )
            registry = new(f"redis://id:pw@{here}", "y")
            claim = grant(registry)
            longer = renew(registry, claim)
            assert isinstance(release(registry, longer, longer.start), LastSeen)
            with pytest.raises(ConfigError, match=r"lacks a right.*hgetall"):
                registry.holdings()
            for right in rights:
                one.acl_setuser(
                    "id",
                    reset=True,
                    enabled=True,
                    passwords="+pw",
                    keys=["frazil:*"],
                    commands=[each for each in rights if each != right],
                )
                one.script_flush()
                error = self.refusal(f"redis://id:pw@{here}?timeout=1s", ConfigError)
                assert "lacks a right" in str(error)

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

    def test_eviction_of_claims_in_use(self):
        for policy in ("allkeys-lru", "allkeys-lfu", "allkeys-random"):
            with Server(maxmemory_policy=policy) as server:
                assert policy in str(self.refusal(server.url, ConfigError))
        with Server(maxmemory_policy="volatile-lru") as server:
            assert isinstance(grant(connect(server.url, "x", ONE_RECORD)), Wait)

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

    def test_a_record_of_a_newer_frazil(self, registry, server):
        newer = server.client().eval("return cmsgpack.pack({2, '0'})", 0)
        server.client().hset(f"frazil:{{{registry.namespace}}}", "head", newer)
        with pytest.raises(ConfigError, match=r"newer frazil \(format 2\)"):
            grant(registry)

    @pytest.mark.parametrize(
        ("honest", "wrong"),
        [
            ("return { kind, ask.nonce,", "return { kind, 'another',"),
            ("text(n), token, from", "text(n), token .. 'x', from"),
            ("text(n), token, from", "text(n + 1024), token, from"),
        ],
    )
    def test_an_answer_to_another_question(self, registry, honest, wrong):
        alter(registry, (honest, wrong))
        with pytest.raises(RegistryUnavailable, match="another command") as caught:
            grant(registry)
        assert not caught.value.outcome_known
        assert not registry.link._idle

    def test_a_wait_ends_where_a_tick_begins(self, registry):
        wait = ("return { kind, ask.nonce,", "return { 'wait', ask.nonce,")
        alter(registry, wait, ("text(n), token, from, to", "'12'"))
        reply = grant(registry)
        assert reply.wait_us == 12_000 - (reply.seen.now_us - registry.terms.epoch_us) % 1000
