"""The measuring: that every ID is looked at, that a repeat is seen, and that sums are right."""

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from evidence.benchmarks import ready, ready_stores, startup
from evidence.benchmarks.kept import Keeping, Repeats, check
from evidence.benchmarks.subjects import Work
from evidence.benchmarks.worker import run_round
from frazil.cli import bench
from frazil.errors import InternalError


@pytest.mark.parametrize("wide", [False, True])
def test_every_id_is_counted(tmp_path: Path, wide: bool) -> None:
    top = 1 << 100 if wide else 0
    keeping = Keeping(tmp_path, "space", 128 if wide else 64)
    keeping.add([top + 1, top + 2])
    keeping.add([top + 3])
    if not wide:
        keeping.add(np.array([4, 1 << 63], np.uint64))
    assert check(tmp_path) == {"space": 3 if wide else 5}


@pytest.mark.parametrize("bits", [64, 128])
def test_a_repeat_is_found_in_another_file(tmp_path: Path, bits: int) -> None:
    high = 7 << (bits - 8)
    Keeping(tmp_path, "space", bits).add([high, high + 1])
    (written,) = (tmp_path / "space").iterdir()
    written.rename(written.with_stem("another"))
    assert check(tmp_path) == {"space": 2}
    Keeping(tmp_path, "space", bits).add([5, high + 1, 6])
    with pytest.raises(Repeats, match=f"1 of 5 IDs in namespace 'space'.*{high + 1}"):
        check(tmp_path)


def test_a_round_keeps_every_batch(tmp_path: Path) -> None:
    """Also the batch that is not timed, which is one more than the round counts."""
    numbers = count()
    work = Work(lambda: [next(numbers) for _ in range(10)])
    found = run_round(work, 3, Keeping(tmp_path, "space", 64))
    assert found["count"] == 30
    assert check(tmp_path) == {"space": 40}
    assert found["wall_ns"] <= found["ended_ns"] - found["began_ns"]


def bench_json(*options: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        bench.command, ["--url", "memory:", "--seconds", "0.01", "--json", *options]
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


@pytest.mark.parametrize("scheme", ["icicle", "globalid-128", "chibrary"])
def test_bench_has_a_line_for_each_way(scheme: str) -> None:
    found = bench_json("--scheme", scheme)
    lines = {line["what"]: line for line in found["lines"]}
    assert {"object()", "ids()", "list(range)", "ids.take(10000)", "ids.array(100000)"} <= set(
        lines
    )
    assert ("ids(), lead 1s" in lines) == (scheme != "chibrary")
    take = lines["ids.take(10000)"]
    assert take["ratio"] == pytest.approx(take["ns_each"] / lines["list(range)"]["ns_each"])
    made = sum(line["count"] for what, line in lines.items() if what.startswith("ids"))
    assert found["unique"] == made


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the times of one child are POSIX's")
def test_each_program_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert startup.main(["--rounds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| `") for line in lines) == len(startup._PROGRAMS)


def test_bench_refuses_a_repeat() -> None:
    bench.check_unique([3, 1, 2])
    with pytest.raises(InternalError, match="1 of 4 IDs repeat, the first is 3"):
        bench.check_unique([3, 1, 3, 2])


@pytest.mark.long
@pytest.mark.parametrize("name", ["redis", "postgres", "mysql", "etcd", "zookeeper"])
def test_the_claim_of_a_known_namespace_takes_two_round_trips_at_most(name: str) -> None:
    with ready_stores.STORES[name]() as store:
        # A driver that asks whether the server lives adds one, so the least of some counts.
        trips = [ready._trips(store, []) for _ in range(3)]
    assert min(int(each.partition(" + ")[2]) for each in trips) <= 2
