"""Failovers to a successor that is behind: ``python -m evidence.benchmarks.failovers [PYTHON]``.

A primary dies, and a replica takes its place that missed the claims of its last seconds, and whose
clock is behind. Live processes continue, and new ones start. Prints how many IDs repeat in each
seed. PYTHON is the interpreter of an environment with another version of frazil, whose processes
then run instead.

``--closed`` measures how long a failover closes a namespace: from the moment at which members reach
the successor until a newcomer has its first ID.
"""

import argparse
import os
import platform
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import frazil
from tests.faults.failovers import STORES, confirmed, repeats
from tests.faults.fleet import Fleet
from tests.processes.harness import count

__all__ = ["main"]

_CASES: list[tuple[str, float, str, float]] = [
    *(("confirmed", behind_s, "any", 2.5) for behind_s in (1, 2, 4, 8)),
    *(("confirmed", 4, first, 2.5) for first in ("new", "slowest", "stopped")),
    *(("postgresql", behind_s, "any", 2.5) for behind_s in (1, 2, 4, 8)),
    *(("postgresql", 4, first, 2.5) for first in ("new", "slowest", "stopped")),
    ("redis", 1.5, "any", 0.7),
]
_HORIZON_S = 3.0


def _run(case: tuple[str, float, str, float], seed: int, python: str) -> tuple[int, int]:
    """The repeats and the IDs of one failover."""
    store, behind_s, first, missed_s = case
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        fleets: list[Fleet] = []

        def fleet(url: str, **how: Any) -> Fleet:
            fleets.append(Fleet(Path(name), url, python=python, **how))
            return fleets[-1]

        try:
            how: dict[str, Any] = {"first": first, "seed": seed, "missed_s": missed_s}
            found = repeats(fleet, store, behind_s, **how)
            return found, count(Path(name))[0]
        finally:
            for each in fleets:
                each.close()


def _closed_s(members: int, behind_s: float) -> float:
    """How long a newcomer waits for its first ID after a failover."""
    over = threading.Event()

    def member(url: str) -> None:
        with suppress(frazil.FrazilError), frazil.open(url, timeout=60) as ids:
            while not over.wait(0.2):
                ids()

    with confirmed(behind_s, f"{_HORIZON_S:g}s") as pair:
        frazil.init(pair.url, new=True)
        threads = [threading.Thread(target=member, args=(pair.url,)) for _ in range(members)]
        for thread in threads:
            thread.start()
        time.sleep(8)  # all have claims, and claims are as long as the horizon
        pair.forsake()
        time.sleep(1)
        pair.fail()
        pair.open()
        began_s = time.monotonic()
        with frazil.open(pair.direct, timeout=60) as ids:
            ids()
            closed_s = time.monotonic() - began_s
        over.set()
        for thread in threads:
            thread.join()
        return closed_s


def _print_closed(rounds: int) -> None:
    print("| Members that come back | clock behind by | closed, horizons | longest |")
    print("|--:|--:|--:|--:|")
    for members in (1, 20, 200):
        for behind in (0.0, 0.5):
            found = [_closed_s(members, behind * _HORIZON_S) / _HORIZON_S for _ in range(rounds)]
            line = f"{median(found):.2f} | {max(found):.2f}"
            print(f"| {members} | {behind:g} horizon | {line} |", flush=True)


def _print_repeats(python: str, seeds: int, parallel: int, stores: list[str]) -> None:
    print("| Store | clock behind by | missed | asks first | IDs | repeats in each seed |")
    print("|---|--:|--:|---|--:|---|")
    with ThreadPoolExecutor(parallel) as pool:
        runs = [
            (case, [pool.submit(_run, case, seed, python) for seed in range(seeds)])
            for case in _CASES
            if case[0] in stores
        ]
        for (store, behind_s, first, missed_s), each in runs:
            found = [run.result() for run in each]
            told = ", ".join(f"{repeated:,}" for repeated, _ in found)
            made = f"{sum(ids for _, ids in found):,}"
            print(f"| {store} | {behind_s:g} s | {missed_s:g} s | {first} | {made} | {told} |",
                  flush=True)  # fmt: skip


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.failovers")
    parser.add_argument("python", nargs="?", default=sys.executable, help="of another version")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--parallel", type=int, default=3, help="how many failovers at a time")
    parser.add_argument("--stores", nargs="*", default=list(STORES), choices=list(STORES))
    parser.add_argument("--closed", type=int, metavar="ROUNDS", help="how long it is closed")
    options = parser.parse_args()
    if options.closed:
        _print_closed(options.closed)
    else:
        _print_repeats(options.python, options.seeds, options.parallel, options.stores)
    now, load = datetime.now(UTC), os.getloadavg()[0]
    print(f"\n{now:%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, "
          f"load {load:.1f}")  # fmt: skip


if __name__ == "__main__":
    main()
