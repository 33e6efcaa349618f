"""Servers of IDs are killed, stopped, emptied, and given another time, under live callers."""

import time
from contextlib import ExitStack

import pytest

from frazil.redis_link.access import Access
from frazil.remote.icicle.server import IcicleServer
from tests.canary import canary
from tests.faults.fleet import UNHURRIED
from tests.servers.redis import Server


def initialise(server: Server, shard: int, replicas: int = 0) -> None:
    access = Access(server.url, (("127.0.0.1", server.port),), replicas=replicas)
    IcicleServer(access, "default").initialise(shard, new=True)


def url_of(*servers: Server, more: str = "") -> str:
    return f"icicle://{','.join(f'127.0.0.1:{server.port}' for server in servers)}{more}"


@pytest.fixture
def pool():
    """Three servers whose clocks are 5 s apart, each with its shard."""
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(faked=True)) for _ in range(3)]
        for shard, (server, apart_s) in enumerate(zip(servers, (0, 5, -5), strict=True)):
            server.step_clock(apart_s)
            time.sleep(0.2)
            initialise(server, shard)
        yield servers


def test_everything_happens_to_a_pool(pool, fleet):
    """Eight processes; one server at a time has a fault."""
    killed, stopped, emptied = pool
    crowd = fleet(url_of(*pool, more="?shards=0,1,2"), most=3000, lead="1s", timeout=UNHURRIED)
    crowd.start(8)
    killed.kill()
    crowd.progress()
    killed.start()
    crowd.progress()
    time.sleep(6)
    stopped.freeze()
    time.sleep(2)
    crowd.progress()
    stopped.thaw()
    crowd.progress()
    for server, seconds in zip(pool, (-3.0, 1.0, 2.0), strict=True):
        server.step_clock(seconds)
        time.sleep(0.5)
    emptied.restart()  # it keeps nothing, so this is another server in its place
    crowd.progress()
    emptied.step_clock(-2.1)
    time.sleep(6)
    crowd.progress()
    assert crowd.errors() == ""
    assert crowd.repeats() == 0


def emptied_again_and_again(fleet, lose, broken=""):
    """How many IDs of one server repeat, and the errors."""
    with Server() as server:
        initialise(server, 9)
        url = url_of(server, more="?shards=9")
        crowd = fleet(url, most=50_000, lead="1s", timeout=UNHURRIED, broken=broken)
        crowd.start(3)
        for _ in range(2):
            lose(server)
            crowd.progress()
        return crowd.repeats(), crowd.errors()


LOSSES = {"restart": Server.restart, "FLUSHALL": lambda server: server.do("FLUSHALL")}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_server_that_forgets(fleet, loss):
    """There is one server, so callers have to wait for the guard; they do, and no call fails."""
    assert emptied_again_and_again(fleet, LOSSES[loss]) == (0, "")


@canary
def test_a_script_without_guard_is_seen(fleet):
    """It takes two callers in one tick, so some attempts show none."""
    lose = LOSSES["FLUSHALL"]
    assert any(emptied_again_and_again(fleet, lose, "unguarded_icicle")[0] for _ in range(8))


def promoted(fleet, more, replicas):
    """How many IDs repeat when an old primary continues beside its successor."""
    with ExitStack() as stack:
        old, new, third = (stack.enter_context(Server()) for _ in range(3))
        new.replicate(old)
        initialise(old, 5, replicas)
        crowd = fleet(url_of(old, more=more), most=3000, lead="1s", timeout=UNHURRIED)
        crowd.start(2)
        new.promote()
        third.replicate(new)
        crowd.url = url_of(new, more=more)
        crowd.start(2)
        if not replicas:
            crowd.progress()
        time.sleep(3)
        return crowd.repeats()


def test_an_old_primary_that_continues(fleet):
    assert promoted(fleet, "?replicas=1", 1) == 0


@canary
def test_an_old_primary_without_confirmation_is_seen(fleet):
    """The docs say so: without ?replicas= two primaries issue the same IDs."""
    assert promoted(fleet, "", 0) > 0
