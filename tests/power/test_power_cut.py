"""Power cuts at any moment: the state that SQLite's registry finds afterwards, and its next claims.

Processes claim and give back on one file while ``recorder.c`` records each of their operations on
the database, its log or journal, and whatever lies beside it. ``disk`` replays the recording up to
a moment and makes the states that a cut may leave: only synced data is certain.
``afterwards`` puts each such state in place, as a host that was started again, with the clock where
it stood, and asks a newcomer to look, to claim and to count. It demands:

1. Nothing is damaged, and no step fails.
2. Each namespace is in the state that some commit left: a commit is there as a whole or not at all.
3. With time, no claim overlaps a claim confirmed before, and none lies beyond a horizon.
4. A counter is at least where it was last confirmed to be, and gives no value again.

The same is demanded where all processes are killed at once and the host runs on: then no commit may
be lost, of layouts with time either.

The states do not show a cut during the recovery from another, a disk that loses confirmed writes,
or garbage beside written data. ``test_real_cut`` cuts a real file system off its disk.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROCESSES, GENERATIONS, VERBS = 3, 2, 30
PATIENCE_S = 300
FIRST = 110  # operations until the file is laid out and holds both records


class Recording:
    """A directory under load while it is recorded, and the states that cuts leave."""

    def __init__(self, place: Path, recorder: Path, broken: str) -> None:
        self.root, self.stash, self.log = (place / name for name in ("root", "stash", "log"))
        for directory in (self.root, self.stash):
            directory.mkdir(parents=True)
        self.broken = broken
        self.url = f"sqlite:{self.root}/frazil/claims.db"  # the default, which frazil creates
        self._state = os.environ | {"XDG_STATE_HOME": str(self.root)}
        self._env = self._state | {
            "LD_PRELOAD": str(recorder),
            "POWER_ROOT": str(self.root),
            "POWER_LOG": str(self.log),
        }

    def load(self, seed: int) -> None:
        """Several processes at a time, twice: the last that closes the file leaves no log."""
        self._run([self._start(seed, initialise=True)])
        for generation in range(GENERATIONS):
            first = seed + generation * PROCESSES
            self._run([self._start(first + n, initialise=False) for n in range(PROCESSES)])

    def _start(self, seed: int, *, initialise: bool) -> "subprocess.Popen[bytes]":
        order = {"url": self.url, "seed": seed, "verbs": VERBS, "initialise": initialise}
        order["broken"] = self.broken
        return subprocess.Popen(
            [sys.executable, str(HERE / "load.py"), json.dumps(order)], env=self._env
        )

    def _run(self, processes: list["subprocess.Popen[bytes]"]) -> None:
        try:
            ends = [process.wait(PATIENCE_S) for process in processes]
        finally:
            for process in processes:
                process.kill()
        assert set(ends) == {0}

    def cut(
        self, seed: int, cuts: int, first: int, enough: list[str], *, killed: bool
    ) -> dict[str, Any]:
        """The faults after these cuts, or up to a fault that contains all words of ``enough``."""
        order = {name: str(getattr(self, name)) for name in ("log", "root", "stash", "url")}
        order |= {"seed": seed, "cuts": cuts, "first": first, "enough": enough, "killed": killed}
        order["processes"] = PROCESSES
        order["boot"] = None if killed or self.broken == "same boot" else "another-boot"
        command = [sys.executable, str(HERE / "afterwards.py"), json.dumps(order)]
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=PATIENCE_S, env=self._state
        )
        assert done.returncode == 0, done.stderr.decode()
        report: dict[str, Any] = json.loads(done.stdout)
        print(f"{report['states']} states of {report['operations']} operations")  # noqa: T201
        return report


def faults_of(
    place: Path,
    recorder: Path,
    seed: int,
    cuts: int,
    broken: str = "",
    enough: tuple[str, ...] = (),
    *,
    first: int = 0,
    killed: bool = False,
) -> list[str]:
    """The faults found after power cuts during one recording."""
    recording = Recording(place.resolve() / f"seed-{seed}", recorder, broken)
    recording.load(seed)
    report = recording.cut(seed, cuts, first, list(enough), killed=killed)
    assert report["states"]
    return [f"{each['fault']} (cut {each['cut']}: {each['variant']})" for each in report["faults"]]


@pytest.mark.parametrize("seed", [1000, pytest.param(2000, marks=pytest.mark.nightly)])
def test_nothing_repeats_and_nothing_breaks_after_a_power_cut(tmp_path, recorder, seed):
    assert faults_of(tmp_path, recorder, seed, cuts=30, first=FIRST // 3) == []


def test_nothing_repeats_and_nothing_breaks_when_all_processes_are_killed(tmp_path, recorder):
    assert faults_of(tmp_path, recorder, 3000, cuts=80, first=FIRST, killed=True) == []


@pytest.mark.parametrize(
    ("broken", "signs"),
    [
        ("nothing is synced", ("no commit left",)),
        ("commits are not synced", ("count: ", " again: ")),
        ("no transaction", ("no commit left",)),
        ("same boot", ("clock: ", " again: ")),
    ],
)
def test_a_power_cut_finds_what_is_broken(tmp_path, recorder, broken, signs):
    for seed in range(5):
        found = faults_of(tmp_path, recorder, seed, 25, broken, signs)
        if any(all(sign in fault for sign in signs) for fault in found):
            return
    raise AssertionError(f"no state of five recordings showed that {broken}")
