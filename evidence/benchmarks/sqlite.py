"""What a claim costs on SQLite: ``python -m evidence.benchmarks.sqlite``.

A grant is compared with an empty transaction (``BEGIN IMMEDIATE``, ``COMMIT``) on the same file in
the same run, over an open connection and over one that is opened for it. Then many processes start
at once on a new file: forked from one that has loaded frazil, and each as a new Python. Prints a
table in Markdown with versions and date. The exit code is 1 if an ID repeats or a process has none.
"""

import argparse
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect

__all__ = ["main"]

_GRANTS = 1_000
_SCHEME = frazil.scheme("icicle")
_LIFE = """
import os, sys, time
began = float(sys.argv[1])
import frazil
ids = frazil.open(sys.argv[2])
line = f"{ids()} {time.time() - began}\\n"
os.write(1, line.encode())
ids.close()
"""
_BARE = """
import os, sys, time
began = float(sys.argv[1])
import sqlite3
db = sqlite3.connect(sys.argv[2].removeprefix("sqlite://"), isolation_level=None, timeout=60)
db.execute("BEGIN IMMEDIATE")
db.execute("COMMIT")
line = f"{os.getpid()} {time.time() - began}\\n"
os.write(1, line.encode())
"""


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def grants(folder: Path) -> Iterator[tuple[str, str]]:
    """A grant and empty transactions, in turns."""
    path = folder / "grants.db"
    registry = connect(f"sqlite://{path}", "grants", _SCHEME)
    registry.initialise(ask_of(LastSeen()), 0)
    kept = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    uri = f"{path.as_uri()}?mode=rw"

    def empty(db: sqlite3.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("COMMIT")

    def opened() -> None:
        db = sqlite3.connect(uri, uri=True, isolation_level=None)
        empty(db)
        db.close()

    def grant() -> None:
        registry.grant(ask_of(LastSeen()), 1)

    kinds: dict[str, Callable[[], object]] = {
        "a grant, requested by a thread, as a generator does": grant,
        "an empty transaction, over a new connection": opened,
        "an empty transaction, over an open connection": lambda: empty(kept),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}

    def in_turn() -> None:
        for _ in range(_GRANTS):
            for kind, work in kinds.items():
                times[kind].append(_timed(work))

    with ThreadPoolExecutor(1) as thread:
        thread.submit(in_turn).result()
    kept.close()
    medians = {kind: statistics.median(each) for kind, each in times.items()}
    ours = next(iter(medians.values()))
    for kind, median in medians.items():
        ratio = "" if median == ours else f", a grant takes {ours / median:.1f} times as long"
        yield f"{kind}, median of {_GRANTS:,}", f"{median * 1e3:.3f} ms{ratio}"


def _forked(url: str, out: Path, many: int) -> None:
    """Start processes that are forked from this one."""
    children = []
    for _ in range(many):
        child = os.fork()
        if child == 0:
            _live(url, out, time.time())
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _live(url: str, out: Path, began: float) -> None:
    """A forked child: open, make one ID, exit."""
    try:
        with frazil.open(url) as ids, out.open("a") as file:
            file.write(f"{ids()} {time.time() - began}\n")
    finally:
        os._exit(0)


def _spawned(url: str, out: Path, many: int, life: str = _LIFE) -> None:
    """Start processes that are each a new Python."""
    with out.open("a") as file:
        command = [sys.executable, "-c", life]
        children = [
            subprocess.Popen([*command, str(time.time()), url], stdout=file) for _ in range(many)
        ]
        for child in children:
            child.wait()


def _bare(url: str, out: Path, many: int) -> None:
    """Start processes that are each a new Python, without frazil."""
    _spawned(url, out, many, _BARE)


def starts(folder: Path, many: int, rounds: int) -> Iterator[tuple[str, str]]:
    """Processes started at once on a new file, so that all wait for its first second too."""
    for kind, start in (
        ("forked", _forked),
        ("each a new Python", _spawned),
        ("each a new Python without frazil", _bare),
    ):
        slowest = []
        for number in range(rounds):
            where = folder / f"{kind}-{number}"
            where.mkdir()
            start(f"sqlite://{where}/claims.db", where / "out", many)
            lines = (where / "out").read_text().split("\n")[:-1]
            ids = {line.split()[0] for line in lines}
            if len(ids) < many:
                sys.exit(f"{kind}, round {number}: {len(ids)} different IDs of {many} processes")
            slowest.append(max(float(line.split()[1]) for line in lines))
        times = f"{statistics.median(slowest):.2f} s, in the worst round {max(slowest):.2f} s"
        yield f"slowest first ID of {many} processes, {kind}, {rounds} rounds", times


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.sqlite", description=__doc__
    )
    parser.add_argument("--processes", type=int, default=200, help="started at once")
    parser.add_argument("--rounds", type=int, default=5, help="of starting them")
    options = parser.parse_args(arguments)
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {versions}, {os.cpu_count()} cores\n")
    print("| SQLite | |\n|---|--:|")
    with tempfile.TemporaryDirectory() as name:
        for what, figure in grants(Path(name)):
            print(f"| {what} | {figure} |", flush=True)
        for what, figure in starts(Path(name), options.processes, options.rounds):
            print(f"| {what} | {figure} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
