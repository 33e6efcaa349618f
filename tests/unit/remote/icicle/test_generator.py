"""``frazil.open("icicle://…")`` on real servers, and its errors."""

import asyncio
import gc
import time
from contextlib import ExitStack
from itertools import islice

import numpy as np
import pytest

import frazil
import frazil.aio
from frazil.errors import ConfigError, LayoutError, RegistryUnavailable
from frazil.remote.icicle.generator import IcicleGenerator
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Cluster, Server, tls_server, until
from tests.tools.proxy import Proxy


@pytest.fixture(scope="module", params=FLAVOURS)
def servers(request):
    with ExitStack() as stack:
        yield [
            stack.enter_context(Server(flavour)) for flavour in ("valkey", request.param, "valkey")
        ]


def url_of(*servers, more=""):
    return f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}{more}"


@pytest.fixture
def url(servers):
    """A pool of three with shards 0, 1, 2 in namespace "test"."""
    for shard, server in enumerate(servers):
        server.do("FLUSHALL")
        Caller(server).init(shard)
    return url_of(*servers)


@pytest.fixture
def ids(url):
    with frazil.open(url, namespace="test") as ids:
        yield ids


def shards(ids):
    return {(n >> 12) & 1023 for n in ids}


class TestIssuing:
    def test_stream_and_text(self, ids):
        found = [next(ids), *islice(ids.stream(), 3), ids.scheme.parse(ids.text())]
        assert len(set(found)) == 5

    def test_lead_lets_a_batch_run_ahead(self, servers, url):
        with frazil.open(url_of(servers[0]), namespace="test", lead="1s") as ids:
            found = ids.array(50_000)
        assert len(np.unique(found)) == 50_000

    def test_the_environment_has_the_url(self, url, monkeypatch):
        monkeypatch.setenv("FRAZIL_URL", url)
        assert isinstance(frazil.open(), IcicleGenerator)
        assert len(frazil.mint(3, namespace="test")) == 3

    def test_one_load_and_then_the_hash(self, servers, url):
        """E1.6: the source is sent only after NOSCRIPT."""
        servers[0].do("SCRIPT", "FLUSH")
        servers[0].do("CONFIG", "RESETSTAT")
        with frazil.open(url_of(servers[0]), namespace="test") as ids:
            for _ in range(10):
                ids()
            stats = servers[0].info("commandstats")
            assert stats["cmdstat_eval"]["calls"] == 1
            servers[0].do("SET", "frazil:icicle:{test}", "mine")
            with pytest.raises(ConfigError, match="holds something else"):
                ids()
        stats = servers[0].info("commandstats")
        assert stats["cmdstat_eval"]["calls"] == 1

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_cluster_is_one_server(self, flavour):
        """E1.9."""
        with Cluster(flavour) as cluster:
            Caller(cluster.home("frazil:icicle:{test}")).init(5)
            with frazil.open(url_of(*cluster.servers, more="?cluster=1"), namespace="test") as ids:
                assert shards(ids.take(5000)) == {5}
            with pytest.raises(ConfigError, match=r"add \?cluster=1"):
                frazil.open(url_of(*cluster.servers), namespace="test")()

    def test_tls(self, tmp_path):
        with tls_server(tmp_path) as (server, at, mine):
            Caller(server).init(3)
            url = f"icicles://{at}?ca={tmp_path}/ca.pem&{mine}"
            with frazil.open(url, namespace="test", timeout=60) as ids:
                assert shards(ids.take(3)) == {3}

            async def awaited():
                async with frazil.aio.open(url, namespace="test", timeout=60) as ids:
                    return await ids.take(3)

            assert shards(asyncio.run(awaited())) == {3}
            gc.collect()  # a connection that was left open says so here
            with pytest.raises(RegistryUnavailable):
                frazil.open(f"icicles://{at}", namespace="test", timeout=1)()

    def test_replicas_confirm(self, servers):
        with Server() as primary, Server() as replica:
            replica.replicate(primary)
            ids = frazil.open(url_of(primary, more="?replicas=1&shards=4"), namespace="test")
            begun = time.monotonic()
            assert shards(ids.take(3)) == {4}
            assert time.monotonic() - begun > 4  # a first use waits
            with pytest.raises(ConfigError, match=r"use \?replicas="):
                frazil.open(url_of(primary), namespace="test")()
            replica.promote()
            with pytest.raises(RegistryUnavailable, match="0 of 1 replicas"):
                ids()  # E1.3: the old one goes on, and nothing that it says counts


class TestPrefetch:
    def test_it_seldom_sends_a_request(self, servers, url):
        with frazil.open(url_of(servers[0], more="?prefetch=1000"), namespace="test") as ids:
            servers[0].do("CONFIG", "RESETSTAT")
            found = [ids() for _ in range(20_000)]
        assert len(set(found)) == 20_000
        calls = servers[0].info("commandstats")["cmdstat_evalsha"]["calls"]
        assert calls < 2_000  # fewer, the faster it is asked


class TestRefusals:
    @pytest.mark.parametrize(
        ("url", "told"),
        [
            ("icicle://a,a", "named twice"),
            ("icicle://a:x", "host or port is not valid"),
            ("icicle://a?shard=1", "unknown option shard"),
            ("icicle://a,b?shards=1", "2 servers need 2 different"),
            ("icicle://a,b?shards=1,1", "2 servers need 2 different"),
            ("icicle://a?shards=1024", "0 to 1023"),
            ("icicle://a?prefetch=5000000", "from 0 to"),
            ("icicle://a?prefetch=-1", "no"),
        ],
    )
    def test_url(self, url, told):
        with pytest.raises(ConfigError, match=told):
            frazil.open(url)

    @pytest.mark.parametrize(
        ("how", "told"),
        [
            ({"scheme": "tsid"}, "use that scheme, or a registry"),
            ({"lead": "1001ms"}, "more than the servers allow, 1s"),
            ({"fields": {"x": 1}}, "not a constant of this layout"),
            ({"sequence_start": "random"}, "takes no sequence_start="),
            ({"block": 5}, "takes no block="),
            ({"namespace": "a}b"}, "printable"),
        ],
    )
    def test_arguments(self, how, told):
        with pytest.raises((ConfigError, LayoutError), match=told):
            frazil.open("icicle://a", **how)

    def test_one_shard_for_two_is_refused_by_each_call(self, servers, url):
        """Other processes may use the other server, so one refusal is not enough."""
        servers[1].do("DEL", "frazil:icicle:{test}")
        Caller(servers[1]).init(0)
        before = [Caller(server).state() for server in servers]
        with frazil.open(url, namespace="test") as ids:
            for call in (ids, lambda: ids.take(9), ids.text, lambda: ids.array(9)) * 3:
                with pytest.raises(ConfigError, match="both have shard 0"):
                    call()
            assert [Caller(server).state() for server in servers] == before
            servers[1].do("DEL", "frazil:icicle:{test}")
            Caller(servers[1]).init(1)
            assert len(set(ids.take(9))) == 9  # from the same generator, now that they differ

    def test_a_user_without_rights(self):
        with Server() as server:
            server.do("ACL", "SETUSER", "me", "on", ">pw", "~*", "+info", "+evalsha", "+eval")
            with pytest.raises(ConfigError, match="lacks a right"):
                frazil.open(f"icicle://me:pw@127.0.0.1:{server.port}")()
            with pytest.raises(ConfigError, match="another user or password"):
                frazil.open(f"icicle://me:no@127.0.0.1:{server.port}")()

    def test_a_clock_that_is_apart(self, servers, url):
        """The status has the offset of the server that is furthest apart, also of a refusal."""

        async def awaited(pool):
            async with frazil.aio.open(pool, namespace="test") as ids:
                await ids.take(9)
                return ids.status()

        with Server(faked=True) as server:
            Caller(server).init(9)
            pool = url_of(servers[0], server)
            with frazil.open(pool, namespace="test") as ids:
                before = ids.status()
                assert (before.clock_offset_s, before.exhausted_in_s > 1e9) == (None, True)
                ids()
                assert ids.status().clock_offset_s == pytest.approx(0, abs=5)
                server.step_clock(30)
                assert shards(ids() for _ in range(4)) == {0, 9}
                assert ids.status().clock_offset_s == pytest.approx(-30, abs=5)
                assert asyncio.run(awaited(pool)).clock_offset_s == pytest.approx(-30, abs=5)
                server.step_clock(3600)
                until(lambda: [ids(), ids.status().clock_offset_s][1] < -3500, "a refusal")


class TestTrouble:
    @pytest.fixture
    def wired(self, servers, url):
        """A proxy to the first server, and a generator that uses it."""
        with Proxy(servers[0].port) as wire:
            where = f"icicle://127.0.0.1:{wire.port}"
            with frazil.open(where, namespace="test", timeout="2s") as ids:
                yield wire, ids

    def test_a_lost_reply_costs_numbers_and_no_repeat(self, wired):
        wire, ids = wired
        found = ids.take(10)
        with wire.losing_replies(after=b"EVALSHA"), pytest.raises(RegistryUnavailable):
            ids.take(10)
        found += ids.take(10)
        cells = [(n >> 22, n & 4095) for n in found]
        assert cells == sorted(set(cells))
        assert cells[10][1] - cells[9][1] > 10
