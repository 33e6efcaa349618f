"""One Redis or Valkey is restarted and emptied, its clock stepped, under live generators."""

import json
import time
from contextlib import contextmanager

import pytest

from tests.canary import canary
from tests.processes.harness import Processes, count, errors, initialise
from tests.servers.redis import BY_NIGHT, Server

HORIZON = "?horizon=3s&timeout=500ms"


@contextmanager
def at_work(fleet, server, **how):
    """Two processes before the fault and two more after it; all end before the server."""
    with server:
        crowd = fleet(server.url + HORIZON, lead="3s", **how)
        crowd.start(2)
        yield crowd
        crowd.start(2)
        crowd.progress()
        crowd.stop()  # a worker that outlives the server would complain of its absence


def forgotten(fleet, flavour, loss, broken=""):
    server = Server(flavour)
    with at_work(fleet, server, broken=broken) as crowd:
        for _ in range(2):
            time.sleep(1)
            loss(server)
            crowd.start(1)  # its claim must not overlap those that the others hold
    return crowd.repeats()


LOSSES = {
    "restart": Server.restart,
    "FLUSHALL": lambda server: server.do("FLUSHALL"),
    "DEL": lambda server: server.do("DEL", "frazil:{default}"),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("flavour", BY_NIGHT)
def test_a_loss(fleet, flavour, loss):
    assert forgotten(fleet, flavour, LOSSES[loss]) == 0


@canary
@pytest.mark.parametrize("loss", ["restart", "FLUSHALL"])
def test_a_loss_is_what_this_test_can_see(fleet, loss):
    assert forgotten(fleet, "valkey", LOSSES[loss], "unguarded_script") > 0


def test_a_loss_while_the_clock_is_back(fleet):
    """Only the members' memory shows how far the claims went, which is an hour ahead."""
    server = Server(faked=True)
    with at_work(fleet, server) as crowd:
        server.step_clock(-3600)
        crowd.progress()
        server.restart()
        time.sleep(4)
        crowd.wait_for_error("ClockError")  # a new record does not believe a step of an hour
        server.step_clock(0)
        crowd.progress()
    assert crowd.repeats() == 0


POOL = "sign:1=0 time:41 node:6 sequence:16 @1ms since 2025-01-01T00:00:00Z"


@pytest.mark.parametrize("rounds", [10, pytest.param(125, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("flavour", BY_NIGHT)
def test_short_lives(place, flavour, rounds):
    crew = Processes(place)
    try:
        with Server(flavour, persistent=True) as server:
            url = initialise(f"{server.url}?timeout=20s", POOL)
            lives = crew.start("crowd", url=url, scheme=POOL, crowd=16, rounds=rounds, n=8)
            said = crew.finish(lives, patience_s=120 * rounds)
            assert (json.loads(said), errors(place)) == ({"failed": 0}, [])
            assert count(place) == (16 * 8 * rounds, 0)
            assert server.info("commandstats")["cmdstat_evalsha"]["calls"] > 16 * rounds
    finally:
        crew.close()
