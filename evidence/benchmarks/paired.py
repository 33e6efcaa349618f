"""Two versions of frazil on one store: ``python -m evidence.benchmarks.paired PYTHON [KIND]...``.

PYTHON is the interpreter of an environment with the other version. Both take short turns on one
server, each in a namespace of its own, so that a noisy machine disturbs both alike. Prints the
medians of a grant and of a renewal, and the median of the turns' ratios with its 95 % interval by
the sign test.
"""

import argparse
import json
import math
import os
import platform
import random
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Self

import frazil
from evidence.benchmarks.claims import STORES

__all__ = ["main"]

_WORKER = Path(__file__).with_name("paired_worker.py")
_VERBS = ("grant", "renew")
_STEPS = 50  # a turn


class _Version:
    """A version's process, which takes turns."""

    def __init__(self, python: str, url: str, name: str) -> None:
        command = [python, str(_WORKER), url, name]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        self.took_ns: dict[str, list[int]] = {verb: [] for verb in _VERBS}
        self.turns_ns: dict[str, list[float]] = {verb: [] for verb in _VERBS}
        self.spent_ns = dict.fromkeys(_VERBS, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def turn(self, verb: str, *, count: bool) -> None:
        """Take a turn."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{verb} {_STEPS}\n")
        self._process.stdin.flush()
        took_ns, spent_ns = json.loads(self._process.stdout.readline())
        if count:
            self.took_ns[verb] += took_ns
            self.turns_ns[verb].append(median(took_ns))
            self.spent_ns[verb] += spent_ns


def _interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median, and its 95 % interval by the sign test."""
    ratios, n = sorted(ratios), len(ratios)
    cut = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return median(ratios), ratios[cut], ratios[n - 1 - cut]


def _compare(kind: str, python: str, turns: int) -> list[tuple[Any, ...]]:
    with STORES[kind]() as store, ExitStack() as stack:
        theirs = stack.enter_context(_Version(python, store.url, "theirs"))
        ours = stack.enter_context(_Version(sys.executable, store.url, "ours"))
        for number in range(turns + 3):
            for verb in _VERBS:
                pair = [theirs, ours]
                random.shuffle(pair)
                for version in pair:
                    version.turn(verb, count=number >= 3)
    rows = []
    for verb in _VERBS:
        pairs = zip(theirs.turns_ns[verb], ours.turns_ns[verb], strict=True)
        each = _interval([new / old for old, new in pairs])
        cpu = ours.spent_ns[verb] / theirs.spent_ns[verb]
        rows.append((verb, median(theirs.took_ns[verb]), median(ours.took_ns[verb]), each, cpu))
    return rows


def main() -> None:
    """Compare on the stores that are named, or on all."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.paired")
    parser.add_argument("python", help="of the other version")
    parser.add_argument("kinds", nargs="*", default=list(STORES), help=" ".join(STORES))
    parser.add_argument("--turns", type=int, default=100, help="of 50 steps")
    options = parser.parse_args()
    print("| Store | Step | before, µs | now, µs | difference | 95 % | client's processor time |")
    print("|---|---|--:|--:|--:|---|--:|")
    for kind in options.kinds:
        for verb, old, new, (middle, low, high), cpu in _compare(
            kind, options.python, options.turns
        ):
            print(
                f"| {kind} | {verb} | {old / 1000:.1f} | {new / 1000:.1f} | {middle - 1:+.1%} "
                f"| {low - 1:+.1%} to {high - 1:+.1%} | {cpu - 1:+.1%} |",
                flush=True,
            )
    version = f"frazil {frazil.__version__}, Python {platform.python_version()}"
    load = os.getloadavg()[0]
    print(f"\n{datetime.now(UTC):%Y-%m-%d}, {version}, {os.cpu_count()} cores, load {load:.1f}")


if __name__ == "__main__":
    main()
