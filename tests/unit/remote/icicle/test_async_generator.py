"""``frazil.aio.open("icicle://…")``: the pool awaited, on real servers."""

import asyncio
import gc
import os
import time
from contextlib import ExitStack

import pytest

from frazil import aio
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.remote.icicle.generator import AsyncIcicle
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Cluster, Server, free_port


@pytest.fixture(scope="module", params=FLAVOURS)
def servers(request):
    with ExitStack() as stack:
        yield [stack.enter_context(Server(flavour)) for flavour in ("valkey", request.param)]


@pytest.fixture
def url(servers):
    for shard, server in enumerate(servers):
        server.do("FLUSHALL")
        Caller(server).init(shard)
    return f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}"


def run(url, work, **how):
    async def main():
        async with aio.open(url, namespace="test", **how) as ids:
            return await work(ids)

    return asyncio.run(main())


def test_all_ways(url):
    async def work(ids):
        assert isinstance(ids, AsyncIcicle)
        found = [await ids(), ids.scheme.parse(await ids.text()), *await ids.take(10_000)]
        found.append(await anext(ids))
        async for n in ids.stream():
            found.append(n)
            if len(found) == 10_005:
                return found

    assert len(set(run(url, work))) == 10_005


def test_refusals(servers, url):
    with pytest.raises(ConfigError, match="prefetch"):
        aio.open(url + "?prefetch=5")
    servers[1].do("DEL", "frazil:icicle:{test}")
    Caller(servers[1]).init(0)
    with pytest.raises(ConfigError, match="both have shard 0"):
        run(url, lambda ids: ids())


def test_a_server_that_hangs():
    with Server() as server:
        Caller(server).init(1)

        async def work(ids):
            await ids()
            server.freeze()
            begun = time.monotonic()
            with pytest.raises(RegistryUnavailable, match="no answer in time"):
                await ids()
            assert time.monotonic() - begun < 30
            server.thaw()
            return await ids()

        patient = f"icicle://127.0.0.1:{server.port}?timeout=60s"
        assert run(patient, work, timeout="300ms")


def test_a_call_waits_for_a_restart():
    with Server(persistent=True) as server:
        Caller(server).init(1)

        async def work(ids):
            before = await asyncio.gather(*(ids() for _ in range(20)))  # so many connections
            server.restart()
            return before, await ids()

        before, after = run(f"icicle://127.0.0.1:{server.port}", work)
        assert after > max(before)


def test_cancelled_calls_leave_no_answer_in_a_connection(url):
    async def work(ids):
        found = []
        for _ in range(50):
            task = asyncio.create_task(ids())
            await asyncio.sleep(0.0002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            found += await ids.take(3)
        return found

    assert len(set(run(url, work))) == 150


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # about connections of a loop that has ended
def test_a_child_leaves_the_connections_of_its_parents_loop(url):
    """Both loops share one epoll: after a close in the child, the parent would read nothing."""

    async def parent():
        async with aio.open(url, namespace="test") as ids:
            first = await ids()
            idle = ids._life.pool.standings[0].server.link._idle
            line = idle[0]
            child = os.fork()
            if child == 0:
                asyncio.run(ids())
                os._exit(0)
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert status == 0
            assert await ids() > first
            assert idle[0] is line

    asyncio.run(parent())
    gc.collect()


def test_a_cluster_and_replicas():
    with Cluster() as cluster:
        home = cluster.home("frazil:icicle:{test}")
        Caller(home).init(5)
        places = ",".join(f"127.0.0.1:{server.port}" for server in cluster.servers)
        found = run(f"icicle://{places}?cluster=1", lambda ids: ids.take(10))
        assert {(n >> 12) & 1023 for n in found} == {5}
        away = f"icicle://127.0.0.1:{free_port()},{places}?cluster=1"  # its first node does not run
        assert run(away, lambda ids: ids.take(3))
        with pytest.raises(RegistryUnavailable, match="0 of 1 replicas"):
            run(f"icicle://{places}?cluster=1&replicas=1&timeout=1s", lambda ids: ids())
