"""The table: the promises and their measurements, every case, and then the machine and versions."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import frazil
from evidence.benchmarks.cases import Case, Sample

__all__ = ["Report", "setting", "versions"]

_ROOT = Path(__file__).resolve().parents[2]
_TIMES = {"ns per ID": 1.0, "ms": 1e6}

Rounds = Sequence[Mapping[str, Sample]]


@dataclass(frozen=True)
class Report:
    """The results of a run. ``counts``: how many IDs of frazil were checked in each namespace."""

    setting: Mapping[str, str]
    versions: Mapping[str, str]
    missing: Sequence[str]
    counts: Mapping[str, int]
    cases: Sequence[tuple[Case, Rounds]]

    def aims(self) -> list[dict[str, Any]]:
        """One entry for each aim: its numbers over the rounds, the limit, whether it is reached."""
        found = []
        for case, rounds in self.cases:
            for aim in case.aims:
                try:
                    numbers = [aim.number(each) for each in rounds]
                except KeyError:  # a subject is not installed
                    continue
                found.append(
                    {
                        "case": case.name,
                        "aim": aim.text,
                        "median": median(numbers),
                        "least": min(numbers),
                        "greatest": max(numbers),
                        "unit": aim.unit,
                        "at_most": aim.most,
                        "at_least": aim.least,
                        "reached": aim.reached(median(numbers)),
                    }
                )
        return found

    def as_json(self) -> dict[str, Any]:
        """All results, with every round."""
        return {
            "setting": dict(self.setting),
            "versions": dict(self.versions),
            "missing": list(self.missing),
            "unique_ids": dict(self.counts),
            "aims": self.aims(),
            "cases": {
                case.name: [
                    {name: vars(sample) for name, sample in each.items()} for each in rounds
                ]
                for case, rounds in self.cases
            },
        }

    def as_markdown(self) -> str:
        """The page."""
        lines = ["# Benchmarks", "", *_INTRODUCTION, "", "## Aims", ""]
        lines += ["| Case | What | Aim | Median | Min-max | Reached |", "|---|---|--:|--:|--:|---|"]
        lines += [_aim_row(entry) for entry in self.aims()]
        for case, rounds in self.cases:
            lines += ["", f"## {case.title}", ""]
            lines += _case_table(case, rounds)
        lines += ["", "## No ID repeats", ""]
        lines += [f"- {name}: {count:,} IDs, all different" for name, count in self.counts.items()]
        lines += ["", "## Machine and versions", ""]
        lines += [f"- {name}: {value}" for name, value in self.setting.items()]
        lines += [f"- {name} {version}" for name, version in self.versions.items()]
        lines += [
            f'- {name}: missing, so not measured (`pip install ".[bench]"`)'
            for name in self.missing
        ]
        return "\n".join(lines) + "\n"


_INTRODUCTION = [
    "This page compares the speed of frazil with that of other packages. It is written by `python",
    "-m evidence.benchmarks`. Compare only numbers of one table: they are of one machine and one",
    "hour. Most aims are ratios of two subjects that ran one shortly after the other in the same",
    "round. The table shows the median of the ratio over all rounds, and its minimum and maximum.",
]


def _aim_row(entry: Mapping[str, Any]) -> str:
    def show(number: float) -> str:
        return f"{number:.3g}{entry['unit']}"

    limit = "-"
    if entry["at_most"] is not None:
        limit = f"≤ {show(entry['at_most'])}"
    elif entry["at_least"] is not None:
        limit = f"≥ {show(entry['at_least'])}"
    spread = f"{show(entry['least'])} to {show(entry['greatest'])}"
    reached = {None: "-", True: "yes", False: "**no**"}[entry["reached"]]
    cells = [entry["case"], entry["aim"], limit, show(entry["median"]), spread, reached]
    return f"| {' | '.join(cells)} |"


def _case_table(case: Case, rounds: Rounds) -> list[str]:
    """A row for each subject: the time of an ID, and how much of it was the thread's CPU."""
    rows = [f"| Subject | {case.unit} | Min-max | CPU |", "|---|--:|--:|--:|"]
    times = _TIMES[case.unit]
    for subject in case.subjects:
        if subject.name not in rounds[0]:
            rows.append(f"| {subject.name} | missing | | |")
            continue
        walls = [each[subject.name].wall_ns / times for each in rounds]
        shares = [each[subject.name].cpu_ns / each[subject.name].wall_ns for each in rounds]
        rows.append(
            f"| {subject.name} | {median(walls):.3g} | {min(walls):.3g} to {max(walls):.3g} "
            f"| {median(shares):.0%} |"
        )
    return rows


def setting(command: str, seed: int | str, rounds: int, registry: str) -> dict[str, str]:
    """What the numbers depend on: machine, interpreter, commit, time, command."""
    return {
        "Command": f"`{command}`",
        "Rounds": f"{rounds}, shuffled with seed {seed}",
        "Registry": registry,
        "Date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Commit": _commit(),
        "frazil": f"{frazil.__version__}, {'compiled' if frazil.COMPILED else 'not compiled'}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "System": f"{platform.system()} {platform.release()}",
        "CPU": f"{_cpu()}, {os.cpu_count()} in use",
    }


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The versions of installed distributions."""
    return {name: metadata.version(name) for name in packages}


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=_ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}, with changes" if changed else commit


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
