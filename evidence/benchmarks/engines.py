"""Spark, Dask and Ray at work: ``python -m evidence.benchmarks.engines spark --rows 20000000``.

Two workers on this host stamp a table while one of them is stopped and then killed, against a real
Valkey that this command starts. Then every ID is counted: how many rows there are, and how many IDs
occur twice. Before that, stamping is timed beside what the engine has itself, in turns of one run.
The exit code is 1 if an ID repeats, or if the number of rows is wrong.
"""

import argparse
import importlib
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.servers.redis import Server

__all__ = ["ENGINES", "Times", "below", "main", "parts", "run", "striking"]

ENGINES = ("spark", "dask", "ray")
_WARMING = 20  # the part of the rows that warms each subject up
Times = dict[str, list[float]]


def parts(rows: int) -> int:
    """How many partitions a table of so many rows gets: as many tasks, each of which starts up."""
    return max(2, min(32, rows // 25_000))


def below(pid: int, word: str) -> list[int]:
    """The processes below ``pid`` whose command line has ``word``, the oldest first."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                stat = (entry / "stat").read_text()
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = []
    for each in sorted(parents):
        above = parents.get(each)
        while above is not None and above != pid:
            above = parents.get(above)
        with suppress(OSError):
            if above == pid and word in Path(f"/proc/{each}/cmdline").read_text():
                found.append(each)
    return found


@contextmanager
def striking(begun: Callable[[], bool], victims: Callable[[], list[int]]) -> Iterator[list[int]]:
    """Once the work has begun, stop a victim for 3 s, then kill it; yields those that were."""
    killed: list[int] = []
    over = threading.Event()

    def strike() -> None:
        while not over.wait(0.05):
            if begun() and (found := victims()):
                with suppress(ProcessLookupError):
                    os.kill(found[0], signal.SIGSTOP)
                    over.wait(3)
                    os.kill(found[0], signal.SIGKILL)
                    killed.append(found[0])
                return

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def run(engine: str, rows: int, rounds: int) -> dict[str, Any]:
    """Stamp and count; the figures by name."""
    module = importlib.import_module(f"evidence.benchmarks.engine_{engine}")
    with (
        Server() as server,
        tempfile.TemporaryDirectory(prefix="frazil-engines-") as folder,
        module.opened(Path(folder)) as world,
    ):
        for name, work in module.subjects(world, server.url, rows // _WARMING).items():
            work(f"{folder}/{name}-warm")  # or the first one timed would pay for the start
        times: Times = {}
        for number in range(rounds):
            for name, work in module.subjects(world, server.url, rows).items():
                began = time.monotonic()
                work(f"{folder}/{name}-{number}")
                times.setdefault(name, []).append(time.monotonic() - began)
        begun, victims = module.targets(world, Path(folder))
        with striking(begun, victims) as killed:
            began = time.monotonic()
            audit = module.stamped_and_audited(world, server.url, rows, f"{folder}/whole")
            spent_s = time.monotonic() - began
    return {
        "engine": engine,
        "rows wanted": rows,
        "rows": audit.rows,
        "distinct": audit.distinct,
        "repeated": audit.repeated,
        "missing or invalid": audit.missing + audit.invalid,
        "nodes": len(audit.nodes),
        "workers killed": len(killed),
        "seconds with the audit": round(spent_s, 1),
        **_ratios(times),
    }


def _ratios(times: Mapping[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(each) for name, each in times.items()}
    stamp_s = medians.get("stamp", 0.0)
    seconds = {f"seconds {name}": round(each, 2) for name, each in medians.items()}
    ratios = {
        f"stamp / {name}": round(stamp_s / each, 2)
        for name, each in medians.items()
        if name != "stamp"
    }
    return {**seconds, **ratios}


def main(arguments: list[str]) -> int:
    """Run one engine and print its figures as JSON. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m evidence.benchmarks.engines")
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2, help="turns of the timed part")
    options = parser.parse_args(arguments)
    found = run(options.engine, options.rows, options.rounds)
    print(json.dumps(found, indent=2))
    right = found["rows"] == found["distinct"] == options.rows and not found["missing or invalid"]
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
