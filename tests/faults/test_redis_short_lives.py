"""Two thousand short-lived processes through 64 node numbers, several at a time."""

from pathlib import Path

import pytest

from tests.processes.harness import Processes, count, errors, initialise
from tests.servers.redis import FLAVOURS, Server

POOL = "sign:1=0 time:41 node:6 sequence:16 @1ms since 2025-01-01T00:00:00Z"
WORKER = Path(__file__).parent / "workers" / "lives"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_two_thousand_short_lives(place, flavour):
    crew = Processes(place)
    try:
        with Server(flavour, persistent=True) as server:
            url = initialise(f"{server.url}?timeout=20s", POOL)
            order = {"url": url, "scheme": POOL, "n": 8, "lives": 500, "at_once": 4}
            workers = [crew.start(WORKER, name=f"w{i}", **order) for i in range(4)]
            for worker in workers:
                crew.finish(worker)
            assert errors(place) == []
            assert count(place) == (16_000, 0)
            assert server.info("commandstats")["cmdstat_evalsha"]["calls"] > 2000
    finally:
        crew.close()
