"""Replies that trickle: every call ends within its timeout, however slowly the bytes come.

A time limit for each read is none for a reply of which a byte comes now and then. So each of these
calls would go on for minutes without a limit for the whole of it.
"""

import asyncio
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from redis._parsers import _RESP2Parser

import frazil
from frazil import aio
from frazil.claims.claim import LastSeen
from frazil.errors import RegistryUnavailable
from frazil.registries import connect
from frazil.remote.icicle.server import IcicleServer
from frazil.system.steps import run
from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.tools.trickle import Trickle
from tests.tools.verbs import ONE_RECORD, begin

needs("aiohttp", "the client of a service")

CONFIG = '[namespaces.a]\nregistry = "memory:"\n'


@pytest.fixture(scope="module")
def redis():
    with Server() as server:
        yield server


@pytest.fixture
def wire(redis):
    Caller(redis, "default").init(3)
    with Trickle(redis.port) as wire:
        yield wire


def fails(call):
    """The RegistryUnavailable of a call, which without a limit would have its reply in the end."""
    with pytest.raises(RegistryUnavailable) as caught:
        call()
    return caught.value


async def awaited(url):
    async with aio.open(url, timeout=1) as ids:
        return await ids()


class TestIcicle:
    def test_other_servers_are_asked_in_time(self, wire):
        """The first call reads all three shards; later ones sometimes try the slow one again."""
        with ExitStack() as kept:
            others = [kept.enter_context(Server()) for _ in range(2)]
            for shard, other in enumerate(others):
                Caller(other, "default").init(shard)
            ports = [wire.port, *(other.port for other in others)]
            url = f"icicle://{','.join(f'127.0.0.1:{port}' for port in ports)}"
            kept.enter_context(wire.trickling())
            ids = kept.enter_context(frazil.open(url, timeout=2))
            slow = ids._alive().pool.standings[0]
            before = 0
            while slow.failures < 3:
                assert isinstance(ids(), int)
                if slow.failures > before:
                    before = slow.failures
                    slow.out_until_s = 0.0

    def test_without_the_fast_parser(self, wire):
        """Without hiredis the driver reads in another way."""
        with frazil.open(f"icicle://127.0.0.1:{wire.port}?timeout=1s") as ids:
            access = ids._alive().pool.standings[0].server.access
        slower = replace(access, options={**access.options, "parser_class": _RESP2Parser})
        server = IcicleServer(slower, "default")
        assert run(server.issuing(5, 1_000_000, 5)).spans
        with wire.trickling(0.02):
            fails(lambda: run(server.issuing(1, 0, 5)))
        assert run(server.issuing(5, 1_000_000, 5)).spans
        server.link.drop()


class TestRedis:
    @pytest.mark.parametrize("verb", ["look", "examine", "initialise"])
    def test_verbs(self, wire, verb):
        url = f"redis://127.0.0.1:{wire.port}?timeout=1s"
        registry = connect(url, f"trickle {verb}", ONE_RECORD)
        call = {"initialise": lambda: begin(registry)}
        with wire.trickling(0.02):
            fails(call.get(verb, getattr(registry, verb)))
        assert isinstance(begin(registry), LastSeen)


@contextmanager
def serving(service):
    with Trickle(service.port) as wire:
        yield wire, f"http://127.0.0.1:{wire.port}/a"


class TestService:
    @pytest.mark.parametrize("warm", [False, True])
    @pytest.mark.parametrize("n", [1, 5])
    def test_open(self, service, warm, n):
        with serving(service) as (wire, url), frazil.open(url, timeout=1) as ids:
            if warm:
                ids()
            with wire.trickling():
                error = fails(lambda: ids.take(n))
            assert error.attempts >= 2
            assert len(set(ids.take(50))) == 50

    def test_awaited(self, service):
        with serving(service) as (wire, url), wire.trickling():
            fails(lambda: asyncio.run(awaited(url)))
