"""What one step of a registry costs.

Command: ``python -m evidence.benchmarks.claims [--held 1000,10000] [KIND]...``.

``frazil plan --registry`` calculates with these figures. A step is a grant, a renewal or a release:
one request of a member, and the unit of all load on a store. How long it takes depends on the
store, and would depend on how many node numbers are held if a step read them all.

Each store is one that the tests start, empty, on this machine. Clients, which are processes, take
claims and give them back, and then renew some that they hold, beside so many claims of others. The
layout has at least 1,024 node numbers, and two for each claim. All cases of a store take turns, so
that other load on the machine meets all of them, and it does not change the last columns: the
processor time of the server for a step, and for a renewal the bytes that a client sends and
receives (by the counters of its TCP connection) and that PostgreSQL and MariaDB write to their log.
SQLite has no server, so the processor time is that of its clients.
"""

import argparse
import os
import platform
import random
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import frazil
from frazil.claims.claim import Claim, LastSeen, Terms
from frazil.claims.record import Record
from frazil.claims.shelves import MOST_SHELVES, SHELF_NODES, share
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.base import RecordRegistry, Registry
from frazil.registries.shelves import ShelvedRegistry

__all__ = ["main"]

_LAYOUT = "sign:1=0 time:41 node:{} sequence:{} @1ms since 2025-01-01"
_HORIZON_S = 3600
_OWN = 4  # claims that a client holds and renews
_LEAST_BITS = 10
_AT_ONCE = 200
_HEAP_MB = 512  # of ZooKeeper, whose node is half a megabyte with 10,000 claims in one record
_TICK_HZ = os.sysconf("SC_CLK_TCK")
_CONNECTION = getattr(socket, "TCP_INFO", 11)
_MOVED = struct.Struct("=120xQQ")  # bytes acknowledged and received, in tcp_info of linux/tcp.h


class Store(NamedTuple):
    """A store that runs. server: its process, or 0. log_bytes: what its log has grown to."""

    url: str
    server: int = 0
    log_bytes: Callable[[], int] = lambda: 0


@contextmanager
def _sqlite() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        yield Store(f"sqlite:{folder}/claims.db")


@contextmanager
def _redis() -> Iterator[Store]:
    from tests.servers.redis import Server

    with Server("valkey") as server:
        yield Store(server.url, server.pid)


@contextmanager
def _postgresql() -> Iterator[Store]:
    from tests.servers.postgres import postgres

    with postgres() as server:
        process = (server.data / "postmaster.pid").read_text().split()[0]
        grown = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        yield Store(server.url(), int(process), lambda: int(server.sql(grown)[0][0]))


@contextmanager
def _mysql() -> Iterator[Store]:
    from tests.servers.mariadb import mariadb

    with mariadb() as server:
        process = (server.place / "pid").read_text()
        grown = "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'"
        yield Store(server.url(), int(process), lambda: int(server.sql(grown)[0][1]))


@contextmanager
def _etcd() -> Iterator[Store]:
    from tests.servers.etcd import etcd

    with etcd() as server:
        process = server.members[0].process
        assert process is not None
        yield Store(server.url, process.pid)


@contextmanager
def _zookeeper() -> Iterator[Store]:
    from tests.servers.zookeeper import zookeeper

    with zookeeper(1, heap_mb=_HEAP_MB) as server:
        process = server.members[0].process
        assert process is not None
        yield Store(server.url(), process.pid)


STORES: dict[str, Callable[[], AbstractContextManager[Store]]] = {
    "sqlite": _sqlite,
    "redis": _redis,
    "postgresql": _postgresql,
    "mysql": _mysql,
    "etcd": _etcd,
    "zookeeper": _zookeeper,
}


class Case(NamedTuple):
    """held: claims of others. shelf: node numbers of a shelf; 0: one shelf, None: as usual."""

    held: int
    shelf: int | None
    clients: int

    @property
    def scheme(self) -> Any:
        bits = max(_LEAST_BITS, (2 * self.held - 1).bit_length())
        return frazil.scheme(_LAYOUT.format(bits, 22 - bits))

    @property
    def namespace(self) -> str:
        return f"{self.held} on {self.shelf}"


class Turn(NamedTuple):
    """Steps, and what they cost: seconds of processor time, and bytes."""

    rate_hz: float
    steps: int
    busy_s: float
    sent: float = 0
    received: float = 0
    logged: float = 0


def _registry(url: str, case: Case) -> Registry:
    """The registry of a client, with so many shelves."""
    usual, size = case.shelf is None, case.shelf or sys.maxsize
    with patch.multiple(
        "frazil.claims.shelves",
        SHELF_NODES=SHELF_NODES if usual else size,
        MOST_SHELVES=MOST_SHELVES if usual else sys.maxsize,
    ):
        return connect(url, case.namespace, case.scheme)


def hold(url: str, case: Case) -> int:
    """Make a namespace in which so many claims are held; returns its number of shelves."""
    registry = _registry(url, case)
    registry.initialise(ask_of(LastSeen()), 0)
    if not isinstance(registry, RecordRegistry):
        for _ in range(case.held):  # as long as they last, none is granted twice
            _granted(registry, _HORIZON_S * 1000)
        return 1
    count = registry.count if isinstance(registry, ShelvedRegistry) else 1
    for shelf in range(count):
        left = case.held * (shelf + 1) // count - case.held * shelf // count
        while left:
            fill = partial(_fill, share(registry.terms, shelf, count), min(left, _AT_ONCE))
            registry.perform(fill, *[shelf] * (count > 1))
            left -= min(left, _AT_ONCE)
    return count


def _fill(terms: Terms, grants: int, record: Record, reading_us: int, incarnation: str) -> None:
    """Many grants in one step, since a step for each takes long."""
    for _ in range(grants):
        record.grant(terms, ask_of(LastSeen()), reading_us, incarnation, _HORIZON_S * 1000)


def _granted(registry: Registry, ticks: int) -> Claim:
    claim = registry.grant(ask_of(LastSeen()), ticks)
    assert isinstance(claim, Claim)
    return claim


@cache
def _member(url: str, case: Case) -> tuple[Registry, list[Claim]]:
    """What a client keeps from turn to turn: its registry, and claims that it renews."""
    registry = _registry(url, case)
    return registry, [_granted(registry, _HORIZON_S * 500) for _ in range(_OWN)]


def starts(url: str, case: Case, seconds: float) -> Turn:
    """Newcomers of one client, which take a claim and give it back."""
    registry, _ = _member(url, case._replace(clients=0))
    steps, busy_s, until = 0, time.process_time(), time.perf_counter() + seconds
    while time.perf_counter() < until:
        claim = _granted(registry, 1)
        registry.release(ask_of(claim.seen, claim), claim.start)
        steps += 2
    return Turn(steps / seconds, steps, time.process_time() - busy_s)


def renewals(url: str, case: Case, seconds: float) -> Turn:
    """One client that renews claims."""
    registry, claims = _member(url, case._replace(clients=0))
    steps, before, busy_s = 0, _moved(), time.process_time()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        claim = claims.pop(random.randrange(_OWN))
        renewed = registry.renew(ask_of(claim.seen, claim), claim.until + 1)
        assert isinstance(renewed, Claim)
        claims.append(renewed)
        steps += 1
    busy_s = time.process_time() - busy_s
    moved = (b - a for a, b in zip(before, _moved(), strict=True))
    return Turn(steps / seconds, steps, busy_s, *moved)


def _moved() -> tuple[int, int]:
    """Bytes that the TCP connections of this process have sent and received."""
    sent = received = 0
    for place in Path("/proc/self/fd").iterdir():
        if place.is_socket():
            with suppress(OSError), socket.socket(fileno=os.dup(int(place.name))) as one:
                told = one.getsockopt(socket.IPPROTO_TCP, _CONNECTION, _MOVED.size)
                out, back = _MOVED.unpack(told)
                sent, received = sent + out, received + back
    return sent, received


def processor_s(server: int) -> float:
    """Seconds of processor time that a server has used, with its children, also ended ones."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            stat = place.read_text().rpartition(")")[2].split()
            if server in (int(place.parent.name), int(stat[1])):
                ticks += sum(map(int, stat[11:15]))
    return ticks / _TICK_HZ


def _turn(pool: Any, store: Store, what: Any, url: str, case: Case, seconds: float) -> Turn:
    """What all clients of a case did together in one turn."""
    log_bytes, used_s = store.log_bytes(), processor_s(store.server)
    doing = [pool.submit(what, url, case, seconds) for _ in range(case.clients)]
    done = [one.result() for one in doing]
    used_s = processor_s(store.server) - used_s
    rate_hz, steps, own_s, sent, received, _ = map(sum, zip(*done, strict=True))
    logged = store.log_bytes() - log_bytes
    return Turn(rate_hz, steps, used_s if store.server else own_s, sent, received, logged)


def rows(
    store: Store, cases: list[Case], seconds: float, rounds: int
) -> Iterator[tuple[Case, int, Turn, Turn]]:
    """For each case its shelves and the medians of its turns, of each step."""
    url = store.url + ("&" if "?" in store.url else "?") + f"horizon={_HORIZON_S}s"
    most = max(case.clients for case in cases)
    each = {case[:2]: case._replace(clients=most) for case in cases}
    shelves = {key: hold(url, case) for key, case in each.items()}
    turns: dict[Case, list[tuple[Turn, Turn]]] = {case: [] for case in cases}
    with ProcessPoolExecutor(most, get_context("spawn")) as pool:
        for case in each.values():  # all clients connect
            _turn(pool, store, starts, url, case, 1.0)
        for _ in range(rounds):
            for case in random.sample(cases, len(cases)):
                first = _turn(pool, store, starts, url, case, seconds)
                turns[case].append((first, _turn(pool, store, renewals, url, case, seconds)))
    for case, found in turns.items():
        both = [_each_step(turns) for turns in zip(*found, strict=True)]
        yield case, shelves[case[:2]], both[0], both[1]


def _each_step(turns: tuple[Turn, ...]) -> Turn:
    """The median rate of some turns, and what each of their steps cost."""
    steps = sum(turn.steps for turn in turns)
    busy_s, sent, received, logged = (
        sum(each) / steps for each in list(zip(*turns, strict=True))[2:]
    )
    return Turn(median(turn.rate_hz for turn in turns), steps, busy_s, sent, received, logged)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    """Measure the stores that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.claims")
    parser.add_argument("kinds", nargs="*", default=list(STORES), help=" ".join(STORES))
    parser.add_argument("--held", type=_numbers, default=[100, 1_000, 10_000])
    parser.add_argument("--clients", type=_numbers, default=[1, 4, 16])
    parser.add_argument(
        "--shelf", type=_numbers, default=[None], help="node numbers of a shelf; 0: one shelf"
    )
    parser.add_argument("--seconds", type=float, default=2, help="of a turn")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    cases = [Case(*each) for each in product(options.held, options.shelf, options.clients)]
    print(
        "| Store | held | shelves | clients | starts and ends/s | renewals/s | server's time, µs "
        "| of a renewal, µs | sent, bytes | received | logged |\n|---|" + "--:|" * 10
    )
    for kind in options.kinds:
        with STORES[kind]() as store:
            for case, shelves, first, renewal in rows(
                store, cases, options.seconds, options.rounds
            ):
                print(
                    f"| {kind} | {case.held:,} | {shelves} | {case.clients} "
                    f"| {first.rate_hz:,.0f} | {renewal.rate_hz:,.0f} "
                    f"| {first.busy_s * 1e6:,.0f} | {renewal.busy_s * 1e6:,.0f} "
                    f"| {renewal.sent:,.0f} | {renewal.received:,.0f} | {renewal.logged:,.0f} |",
                    flush=True,
                )
    load = os.getloadavg()[0]
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    version = f"frazil {frazil.__version__}, Python {platform.python_version()}"
    print(f"\n{date}, {version}, {os.cpu_count()} cores, load average {load:.1f}")


if __name__ == "__main__":
    main()
