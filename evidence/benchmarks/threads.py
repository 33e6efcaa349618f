"""IDs a second from several threads: ``python -m evidence.benchmarks.threads``.

Meant for a Python without the global interpreter lock (GIL); it says whether there is one. Each
subject runs with 1, 2 and 4 threads, in rounds, in an order shuffled by a printed seed. Prints the
medians of the rounds in a table in Markdown: millions of IDs a second, and the processor's time for
an ID, which other programs disturb less. Every ID of frazil is compared with all others of its
namespace; the exit code is 1 if one repeats.

    object        ``object()``, which no thread shares: what this machine can do
    one           threads share a generator of frazil
    own           each thread has a generator of its own
    arrays        they share one, and take arrays of 10,000 IDs
    count         ``itertools.count``, shared
    locked        a number that goes up, with a lock around each step
    uuid7         ``uuid_utils.uuid7``, if it is installed

    pip install . numpy uuid-utils
"""

import argparse
import os
import platform
import random
import secrets
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from statistics import median
from typing import Any

import numpy as np

import frazil

__all__ = ["main"]

_THREADS = (1, 2, 4)
_ARRAY = 10_000
_SCHEME = "sign:1=0 time:41 node:6 sequence:16 @1ms since 2025-01-01T00:00:00Z"

Call = Callable[[], Any]


class _Locked:
    """A number that goes up."""

    def __init__(self) -> None:
        self._lock, self._number = threading.Lock(), 0

    def __call__(self) -> int:
        with self._lock:
            self._number += 1
            return self._number


def _generator() -> frazil.Generator:
    ids = frazil.open("memory:threads", _SCHEME, lead="1s", timeout="1min")
    ids()
    return ids


def _subjects() -> dict[str, tuple[list[Call], int]]:
    """The calls of each thread, and how many IDs a call makes."""
    most = max(_THREADS)
    shared = _generator()
    numbers = count().__next__
    found: dict[str, tuple[list[Call], int]] = {
        "object": ([object] * most, 1),
        "one": ([shared] * most, 1),
        "own": ([_generator() for _ in range(most)], 1),
        "arrays": ([lambda: shared.array(_ARRAY)] * most, _ARRAY),
        "count": ([numbers] * most, 1),
        "locked": ([_Locked()] * most, 1),
    }
    try:
        from uuid_utils import uuid7
    except ImportError:
        return found
    return found | {"uuid7": ([uuid7] * most, 1)}


def _run(calls: list[Call], each: int) -> tuple[float, float, list[Any]]:
    """Calls a second of threads that make ``each``, the ns of one, and what they returned."""
    found: list[list[Any]] = [[] for _ in calls]
    spans: list[tuple[int, int, int]] = []
    ready = threading.Barrier(len(calls))

    def work(call: Call, into: list[Any]) -> None:
        ready.wait()
        begun_ns, used_ns = time.perf_counter_ns(), time.thread_time_ns()
        into += [call() for _ in range(each)]
        used_ns = time.thread_time_ns() - used_ns
        spans.append((begun_ns, time.perf_counter_ns(), used_ns))

    pairs = zip(calls, found, strict=True)
    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begun_ns, end_ns, used_ns = zip(*spans, strict=True)
    count = each * len(calls)
    rate = count * 1e9 / (max(end_ns) - min(begun_ns))
    return rate, sum(used_ns) / count, [part for into in found for part in into]


def _repeats(kept: list[Any]) -> int:
    ids = np.sort(np.concatenate([np.asarray(part, np.uint64).ravel() for part in kept]))
    print(f"\n{len(ids):,} IDs of frazil were compared with each other.")
    return int(np.count_nonzero(ids[1:] == ids[:-1]))


def main() -> int:
    """Measure and print. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.threads")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=100_000, help="of a thread, in a round")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32))
    options = parser.parse_args()
    rng, subjects = random.Random(options.seed), _subjects()
    rates: dict[tuple[str, int], list[float]] = {}
    costs: dict[tuple[str, int], list[float]] = {}
    kept: list[Any] = []
    for number in range(options.rounds + 1):
        turns = [(name, threads) for name in subjects for threads in _THREADS]
        rng.shuffle(turns)
        for name, threads in turns:
            calls, size = subjects[name]
            rate, cost, found = _run(calls[:threads], max(1, options.calls // min(size, 1000)))
            if name in ("one", "own", "arrays"):
                kept.append(np.array(found, np.uint64).ravel())
            if number:  # the first round warms up
                rates.setdefault((name, threads), []).append(rate * size / 1e6)
                costs.setdefault((name, threads), []).append(cost / size)
    heads = [f"{n} thread{'s' * (n > 1)}{what}" for what in ("", ", ns") for n in _THREADS]
    print(f"| million IDs a second | {' | '.join(heads)} |")
    print(f"|---|{'--:|' * len(heads)}")
    for name in subjects:
        row = (median(found[name, threads]) for found in (rates, costs) for threads in _THREADS)
        print(f"| {name} | {' | '.join(f'{value:.3g}' for value in row)} |")
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d}, frazil {frazil.__version__}, CPython "
        f"{platform.python_version()} {'with' if locked else 'without'} the GIL, "
        f"{'compiled' if frazil.COMPILED else 'interpreted'}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f}, seed {options.seed}, {options.rounds} rounds"
    )
    return 1 if _repeats(kept) else 0


if __name__ == "__main__":
    sys.exit(main())
