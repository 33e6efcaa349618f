"""What one step of a registry costs.

Command: ``python -m evidence.benchmarks.claims [--held 1000,10000] [KIND]...``.

``frazil plan --registry`` calculates with these figures. A step is a grant, a renewal or a release:
one request of a member, and the unit of all load on a store. How long it takes depends on the
store, and would depend on how many node numbers are held if a step read them all.

Each store is one that the tests start, empty, on this machine. One client and then four take a
claim and give it back, in turns, beside so many claims that are held. The numbers of claims take
turns, so that other load on the machine meets all of them. Prints a table in Markdown; the last
column compares four clients with the first number of claims.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Any

import frazil
from frazil.claims.claim import Claim, LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect

__all__ = ["main"]

_LAYOUT = "sign:1=0 time:41 node:16 sequence:6 @1ms since 2025-01-01"
_CLIENTS = 4
_ROUNDS = 5
_HORIZON_S = 3600
_HEAP_MB = 512  # of ZooKeeper, whose node is half a megabyte with 10,000 claims


@contextmanager
def _sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:{folder}/claims.db"


@contextmanager
def _redis() -> Iterator[str]:
    from tests.servers.redis import Server

    with Server("valkey") as server:
        yield server.url


@contextmanager
def _postgresql() -> Iterator[str]:
    from tests.servers.postgres import postgres

    with postgres() as server:
        yield server.url()


@contextmanager
def _etcd() -> Iterator[str]:
    from tests.servers.etcd import etcd

    with etcd() as server:
        yield server.url


@contextmanager
def _mysql() -> Iterator[str]:
    from tests.servers.mariadb import mariadb

    with mariadb() as server:
        yield server.url()


@contextmanager
def _zookeeper() -> Iterator[str]:
    from tests.servers.zookeeper import zookeeper

    with zookeeper(1, heap_mb=_HEAP_MB) as server:
        yield server.url()


STORES: dict[str, Callable[[], Any]] = {
    "sqlite": _sqlite,
    "redis": _redis,
    "postgresql": _postgresql,
    "mysql": _mysql,
    "etcd": _etcd,
    "zookeeper": _zookeeper,
}


def hold(url: str, namespace: str, held: int) -> None:
    """Make a namespace in which so many claims are held."""
    registry = connect(url, namespace, frazil.scheme(_LAYOUT))
    registry.initialise(ask_of(LastSeen()), 0)
    for _ in range(held):  # as long as they last, none is granted twice
        claim = registry.grant(ask_of(LastSeen()), _HORIZON_S * 1000)
        assert isinstance(claim, Claim)


def steps_hz(url: str, namespace: str, clients: int, seconds: float) -> float:
    """Steps a second of so many clients together."""

    def steps(_: int) -> int:
        registry = connect(url, namespace, frazil.scheme(_LAYOUT))
        seen, done, until = LastSeen(), 0, time.perf_counter() + seconds
        while time.perf_counter() < until:
            claim = registry.grant(ask_of(seen), 1)
            assert isinstance(claim, Claim)
            registry.release(ask_of(claim.seen, claim), claim.start)
            seen = claim.seen
            done += 2
        return done

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(steps, range(clients))) / seconds


def rows(url: str, counts: list[int], seconds: float) -> Iterator[tuple[int, float, float, float]]:
    """For each number of claims: the medians of one client and of four, and the ratio of these."""
    url += ("&" if "?" in url else "?") + f"horizon={_HORIZON_S}s"
    for held in counts:
        hold(url, f"held{held}", held)
    rounds = [
        [
            [steps_hz(url, f"held{held}", clients, seconds) for clients in (1, _CLIENTS)]
            for held in counts
        ]
        for _ in range(_ROUNDS)
    ]
    first = sum(one[0][1] for one in rounds)
    for n, held in enumerate(counts):
        alone, together = (median(one[n][which] for one in rounds) for which in (0, 1))
        yield held, alone, together, sum(one[n][1] for one in rounds) / first


def main() -> None:
    """Measure the stores that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.claims")
    parser.add_argument("kinds", nargs="*", default=list(STORES), help=" ".join(STORES))
    parser.add_argument("--held", default="100,1000,10000")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    counts = [int(held) for held in options.held.split(",")]
    print("| Store | held | steps/s, one client | steps/s, four | ratio |\n|---|--:|--:|--:|--:|")
    for kind in options.kinds:
        with STORES[kind]() as url:
            for held, alone, together, ratio in rows(url, counts, options.seconds):
                rates = f"{alone:,.0f} | {together:,.0f} | {ratio:.2f}"
                print(f"| {kind} | {held:,} | {rates} |", flush=True)
    load = os.getloadavg()[0]
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    version = f"frazil {frazil.__version__}, Python {platform.python_version()}"
    print(f"\n{date}, {version}, {os.cpu_count()} cores, load average {load:.1f}")


if __name__ == "__main__":
    main()
