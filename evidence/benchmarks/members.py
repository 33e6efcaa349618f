"""Thousands of members on one server: ``python -m evidence.benchmarks.members [STORE...]``.

Each member is a generator of its own, with a claim that it renews; a process has many of them, and
the server cannot tell them from as many processes. All members of a store belong to one namespace.
They start as fast as the machine can, then each takes an ID every two seconds, and in the second
minute a tenth of them is closed and opened again, one after the other.

Measured are the time from opening a generator to its first ID, at the start and for those opened
later; the IDs that had to wait because a renewal was late, which a member can have more than ten
seconds after its second claim, the first one of a horizon; and the processor time of the server,
also that of the least and the most busy second once all members have had long claims, before the
first is opened again. The store is one that the tests start on this machine, which it shares with
the members. Prints a table in Markdown. The exit code is 1 if an ID repeats.
"""

import argparse
import multiprocessing
import os
import platform
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from math import inf
from statistics import quantiles
from threading import Event, Thread
from typing import NamedTuple

import frazil
from evidence.benchmarks.claims import STORES, processor_s
from frazil.inputs.duration import duration_us

__all__ = ["main"]

_LAYOUT = "sign:1=0 time:41 node:16 sequence:6 @1ms since 2025-01-01"
_PERIOD_S = 2.0
_SETTLED_S = 10.0  # all members ask for their second claim at once, when the first 100 ms are over
_AGAIN = 10  # one of so many members is opened again


class _Told(NamedTuple):
    """What a process tells: times of first IDs, in seconds, and all IDs."""

    at_start_s: list[float]
    later_s: list[float]
    late: int
    failures: int
    issued: list[int]
    begin: float  # when all had started, by ``time.monotonic``


def _open(url: str, issued: list[int]) -> tuple[frazil.Generator, float]:
    began = time.perf_counter()
    ids = frazil.open(url, _LAYOUT, namespace="members", timeout=60)
    issued.append(ids())
    return ids, time.perf_counter() - began


def _live(url: str, members: int, seconds: float) -> _Told:
    """The life of a process with so many members, after all have started."""
    told = _Told([], [], 0, 0, [], 0.0)
    crowd = []
    for _ in range(members):
        ids, took_s = _open(url, told.issued)
        crowd.append(ids)
        told.at_start_s.append(took_s)
    settled_s = [inf] * members
    begin, late, failures = time.monotonic(), 0, 0
    while (passed_s := time.monotonic() - begin) < seconds:
        again = members / _AGAIN * (2 * passed_s / seconds - 1)
        for n, ids in enumerate(crowd):
            waits = ids.status().waits
            told.issued.append(ids())
            now_s = time.monotonic()
            late += (ids.status().waits - waits) * (now_s > settled_s[n])
            settled_s[n] = min(settled_s[n], now_s + _SETTLED_S)
            if len(told.later_s) < again:
                failures += ids.status().failures
                ids.close()
                crowd[n], took_s = _open(url, told.issued)
                settled_s[n] = inf
                told.later_s.append(took_s)
        time.sleep(max(0.0, _PERIOD_S - (time.monotonic() - begin - passed_s)))
    for ids in crowd:
        failures += ids.status().failures
        ids.close()
    return told._replace(late=late, failures=failures, begin=begin)


class _Watch(Thread):
    """Notes the processor time of a server, once a second."""

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self.server, self.seen, self.stop = server, [], Event()

    def run(self) -> None:
        while not self.stop.wait(1.0):
            self.seen.append((time.monotonic(), processor_s(self.server)))

    def between(self, begin: float, end: float) -> str:
        """The least and the most busy second of a time, as shares of a processor."""
        inside = [(at, used) for at, used in self.seen if begin <= at < end]
        shares = [(u2 - u1) / (t2 - t1) for (t1, u1), (t2, u2) in pairwise(inside)]
        return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "-"


def _row(kind: str, members: int, processes: int, horizon: str, seconds: float) -> tuple[str, int]:
    """The row of a store, and how many IDs repeat."""
    with STORES[kind]() as store:
        url = store.url + ("&" if "?" in store.url else "?") + f"horizon={horizon}"
        frazil.init(url, _LAYOUT, namespace="members", new=True)
        began, cpu_s = time.monotonic(), processor_s(store.server)
        watch = _Watch(store.server)
        watch.start()
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            each = [(url, members // processes, seconds)] * processes
            told = pool.starmap(_live, each, chunksize=1)
            cpu = (processor_s(store.server) - cpu_s) / (time.monotonic() - began)
        watch.stop.set()
        watch.join()
    issued = [n for one in told for n in one.issued]
    repeats = len(issued) - len(set(issued))
    times = []
    for some in ([t for one in told for t in one.at_start_s], [t for o in told for t in o.later_s]):
        percent = quantiles(some, n=100)
        times.append(f"{percent[49] * 1e3:,.0f}, {percent[98] * 1e3:,.0f} ms")
    settled = max(one.begin for one in told) + duration_us(horizon) / 1e6
    even = watch.between(settled, min(one.begin for one in told) + seconds / 2)
    late, failures = sum(one.late for one in told), sum(one.failures for one in told)
    row = (
        f"| {kind} | {members:,} | {horizon} | {times[0]} | {times[1]} | {late} | {failures} | "
        f"{cpu:.0%} | {even} | {len(issued):,} | {repeats} |"
    )
    return row, repeats


def main() -> int:
    """Measure the stores that are named, or all servers."""
    servers = [kind for kind in STORES if kind != "sqlite"]
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.members")
    parser.add_argument("kinds", nargs="*", default=servers, help=" ".join(servers))
    parser.add_argument("--members", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--horizon", default="30s")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    print(
        "| Store | members | horizon | first ID at the start: p50, p99 | of those opened later "
        "| late renewals | failed calls | server's CPU | in a second | IDs | repeats |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
    repeats = 0
    for kind in options.kinds:
        row, again = _row(
            kind, options.members, options.processes, options.horizon, options.seconds
        )
        print(row, flush=True)
        repeats += again
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    version = f"frazil {frazil.__version__}, Python {platform.python_version()}"
    load = os.getloadavg()[0]
    print(f"\n{date}, {version}, {os.cpu_count()} cores, load average {load:.1f}")
    return 1 if repeats else 0


if __name__ == "__main__":
    sys.exit(main())
