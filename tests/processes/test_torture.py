"""``frazil torture`` finds duplicates in what is wrong, by every fault; in frazil it finds none."""

import json
import os
import subprocess
import sys

import pytest

from frazil.testing.torture import FAULTS
from tests.needs import needs
from tests.processes.harness import WORKERS

__all__: list[str] = []

pytestmark = pytest.mark.processes

START = "from frazil.cli import main; main(prog_name='frazil')"
SECONDS = 0.5  # of each fault

# Every fault, with the wrong generator in which it must find duplicates.
FOUND_IN = {
    "naive": "fork,fork-burst,multiprocessing,copy,pickle,together,back,forward,frozen",
    "counter": "kill,earlier",
    "racing": "threads",
    "leased": "stop",
    "stored": "store-kill,store-wipe",
}


def torture(*arguments, faults, place, **env):
    """Run the command; answers its exit code and its JSON."""
    needs("libfaketime", "clocks that are set")
    seconds = str(SECONDS * (faults.count(",") + 1))
    words = ["torture", *arguments, "--faults", faults, "--seconds", seconds, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", START, *words],
        capture_output=True,
        text=True,
        cwd=WORKERS,
        env={**os.environ, "TMPDIR": str(place), **env},
        timeout=200,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_every_fault_is_tried_on_a_wrong_one():
    assert sorted(",".join(FOUND_IN.values()).split(",")) == sorted(FAULTS)


@pytest.mark.skipif(os.environ.get("FRAZIL_PURE") == "1", reason="the same in both: not frazil's")
@pytest.mark.parametrize("wrong", FOUND_IN)
def test_each_fault_finds_duplicates(wrong, place):
    lease = place / "lease"
    lease.write_text("0 0 0")
    own = ["--own", "redis"] if wrong == "stored" else []
    code, told = torture(
        "--system",
        f"wrong:{wrong}",
        *own,
        faults=FOUND_IN[wrong],
        place=place,
        FRAZIL_TEST_LEASE=str(lease),
    )
    found = {fault["fault"]: fault["outcome"] for fault in told["faults"]}
    assert found == dict.fromkeys(FOUND_IN[wrong].split(","), "repeated"), told
    assert code == 1
    assert told["duplicates"] == sum(fault["duplicates"] for fault in told["faults"])


@pytest.mark.parametrize("own", ["sqlite", "redis"])
def test_frazil_repeats_under_none(own, place):
    skipped = {"store-kill"} if own == "sqlite" else set()
    faults = ",".join(FAULTS) if own == "sqlite" else "earlier,store-kill,store-wipe"
    code, told = torture("--own", own, faults=faults, place=place)
    assert code == 0, told
    assert told["duplicates"] == 0
    assert told["ids"] > 10_000
    found = {fault["fault"]: fault["outcome"] for fault in told["faults"]}
    assert found == {
        name: "unavailable" if name in skipped else "unique" for name in faults.split(",")
    }, told
    assert list(place.iterdir()) == []
