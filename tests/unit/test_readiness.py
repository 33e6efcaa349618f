"""The readiness of a process: red before its IDs run out, in a thread, a task and ASGI."""

import asyncio
import socket
import time

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import frazil
from frazil.errors import RegistryUnavailable
from frazil.readiness import ReadyApp, why_unready, why_unready_async
from frazil.remote.icicle.server import icicle_script
from tests.servers.redis import Server
from tests.tools.verbs import grant
from tests.tools.waiting import until

DEAD = "redis://127.0.0.1:1?timeout=100ms"


def test_a_generator_without_a_claim_is_asked_for_one(request):
    with frazil.open(f"memory:{request.node.name}") as ids:
        assert why_unready(ids) == ""
        assert ids.status().claimed


def test_a_probe_is_no_call():
    """Neither a wait nor a failure, of any kind of generator and in every way to probe it."""

    async def probe(ids):
        with pytest.raises(RegistryUnavailable):
            await ids.ready(timeout="10ms")
        assert await why_unready_async(ids, timeout="10ms")
        return ids.status()

    for url in (DEAD, "icicle://127.0.0.1:1?timeout=100ms", "http://127.0.0.1:1"):
        with frazil.open(url, timeout="100ms") as ids:
            with pytest.raises(RegistryUnavailable):
                ids.ready(timeout="10ms")
            assert why_unready(ids, timeout="10ms")
            for status in (ids.status(), asyncio.run(probe(frazil.aio.open(url, timeout="100ms")))):
                assert (status.waits, status.failures) == (0, 0)
            with pytest.raises(RegistryUnavailable):
                ids()
            assert (ids.status().waits, ids.status().failures) == (1, 1)


def test_a_probe_of_servers_that_hang_ends_in_its_own_time():
    """Before the generator's timeout, at the first call and later."""
    with Server() as server, socket.create_server(("127.0.0.1", 0)) as silent:
        init = ["init", "", "", "", "3", "", "", "", "1"]
        server.client().eval(icicle_script().source, 1, "frazil:icicle:{default}", *init)
        pool, service = f"{server.url.replace('redis', 'icicle', 1)}", silent.getsockname()[1]
        with frazil.open(pool, timeout="10min") as used:
            used()
            server.freeze()
            for ids in (
                used,
                frazil.open(f"{pool}?timeout=10min", timeout="10min"),
                frazil.open(f"http://127.0.0.1:{service}/x", timeout="10min"),
            ):
                begun = time.monotonic()
                assert "does not answer" in why_unready(ids, timeout="200ms")
                assert time.monotonic() - begun < 300
            server.thaw()


def test_it_says_why_there_is_no_id(request):
    """Not the name of a class, and no host."""
    url = f"memory:{request.node.name}"
    frazil.init(url, "sequence:2", start=0)
    with frazil.open(url, "sequence:2") as ids:
        ids.take(3)
        with frazil.open(url, "sequence:2") as late:
            assert "the counter of 'sequence:2' is used up (4)" in why_unready(late)
    tiny = "sign:1=0 time:39 node:1 sequence:23 @1ms since 2025-01-01T00:00:00Z"
    with frazil.open(f"{url}?horizon=10min", tiny, namespace="full") as ids:
        registry = ids._walk.registry
        for _ in range(2):
            grant(registry, 10**9)
        full = "no ID can be made now: all 2 node numbers are in use"
        until(lambda: why_unready(ids, timeout="100ms").startswith(full), "an answer")


def test_a_store_that_refuses_is_not_named(request):
    url = f"memory:{request.node.name}"
    with frazil.open(url) as ids:
        ids()
    with frazil.open(url, "sonyflake") as ids:
        why = why_unready(ids)
        assert why == "the store refuses the requests of this generator; the log has the reason"


async def get(*generators, **options):
    app = Starlette(routes=[Mount("/readyz", ReadyApp(*generators, **options))])
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://x", follow_redirects=True
    ) as client:
        return await client.get("/readyz")


def test_asgi(request):
    async def main():
        async with frazil.aio.open(f"memory:{request.node.name}") as ids:
            with frazil.open(f"memory:{request.node.name}") as sync:
                good = await get(ids, sync)
        async with frazil.aio.open(DEAD) as ids:
            bad = await get(ids, timeout="100ms")
        return good, bad

    good, bad = asyncio.run(main())
    assert (good.status_code, good.text) == (200, "ready\n")
    assert bad.status_code == 503
    assert "does not answer" in bad.text
    assert bad.headers["cache-control"] == "no-store"
