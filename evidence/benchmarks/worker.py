"""The process of one subject: one round for each line from the runner, its times as a line of JSON.

    python -m evidence.benchmarks.worker CASE SUBJECT URL FOLDER BATCHES

While other subjects run, the caches go cold and frazil's generators give their claims back. So a
round begins with work that is not timed: one batch and, if the subject is a generator in use, a
trickle of single IDs. Counting and keeping the IDs of a batch is not timed either.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidence.benchmarks.cases import CASES
from evidence.benchmarks.kept import Keeping
from evidence.benchmarks.subjects import NAMESPACES, Work

__all__ = ["main", "run_round"]


_TRICKLE_S = 1.5  # until claims have grown to their full length
_DROP_S = 0.005


def run_round(work: Work, batches: int, keeping: Keeping | None) -> dict[str, int]:
    """One round: the number of IDs, nanoseconds of wall and of the thread's CPU, begin and end."""
    batch = work.batch
    _settle(batch(), keeping)
    if work.one is not None:
        _trickle(work.one, keeping)
    count = wall_ns = cpu_ns = began_ns = ended_ns = 0
    for _ in range(batches):
        cpu_before_ns = time.thread_time_ns()
        before_ns = time.monotonic_ns()
        ids = batch()
        ended_ns = time.monotonic_ns()
        cpu_ns += time.thread_time_ns() - cpu_before_ns
        wall_ns += ended_ns - before_ns
        began_ns = began_ns or before_ns
        count += _settle(ids, keeping)
    return {
        "count": count,
        "wall_ns": wall_ns,
        "cpu_ns": cpu_ns,
        "began_ns": began_ns,
        "ended_ns": ended_ns,
    }


def _trickle(one: Callable[[], Any], keeping: Keeping | None) -> None:
    until_s = time.monotonic() + _TRICKLE_S
    while time.monotonic() < until_s:
        _settle([one()], keeping)
        time.sleep(_DROP_S)


def _settle(ids: Any, keeping: Keeping | None) -> int:
    """Keep a batch. Returns how many IDs it has, without the None that snowflake-id may give."""
    if ids is None:
        return 1
    parts = ids if isinstance(ids, list) and isinstance(ids[0], list) else [ids]
    if keeping is not None:
        for part in parts:
            keeping.add(part)
    return sum(len(part) - (part.count(None) if isinstance(part, list) else 0) for part in parts)


def main(arguments: list[str]) -> None:
    """Serve rounds until the runner closes the pipe."""
    case, name, url, folder, batches = arguments
    (subject,) = [subject for subject in CASES[case].subjects if subject.name == name]
    keeping = None
    if subject.namespace is not None:
        import frazil

        bits = frazil.scheme(NAMESPACES[subject.namespace]).bits
        keeping = Keeping(Path(folder), subject.namespace, bits)
    work = subject.make(url)
    _settle(work.batch(), keeping)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(run_round(work, int(batches), keeping)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
