"""The rounds: every subject of a case once, in a shuffled order, each in a process of its own.

The processes of a case are started first and wait at their pipes, where they cost nothing; so the
subjects of a round follow each other within milliseconds, and no start is measured.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Self

from evidence.benchmarks.cases import Case, Sample
from evidence.benchmarks.subjects import Subject

__all__ = ["Plan", "SubjectFailed", "missing", "run_case", "scaled"]

ROOT = Path(__file__).resolve().parents[2]


class SubjectFailed(Exception):
    """The process of a subject ended early; its output is above the message."""


@dataclass(frozen=True)
class Plan:
    """How to run: the registry, the folder of IDs, how many rounds, how much of each, the order."""

    url: str
    folder: Path
    rounds: int
    scale: float
    rng: random.Random


class _Team:
    """The processes of one subject, started and waiting."""

    def __init__(self, case: Case, subject: Subject, plan: Plan) -> None:
        self._name = subject.name
        batches = str(scaled(case.batches, plan.scale))
        command = [sys.executable, "-m", "evidence.benchmarks.worker", case.name, subject.name]
        self._members = [
            subprocess.Popen(
                [*command, plan.url, str(plan.folder), batches],
                cwd=ROOT,
                env={**os.environ, **({"FRAZIL_PURE": "1"} if subject.pure else {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(subject.workers)
        ]

    def wait(self) -> None:
        """Wait until all are set up."""
        for member in self._members:
            self._line(member)

    def round(self) -> Sample:
        """One round of all members at once."""
        for member in self._members:
            assert member.stdin is not None
            member.stdin.write("go\n")
            member.stdin.flush()
        parts = [json.loads(self._line(member)) for member in self._members]
        count = sum(part["count"] for part in parts)
        wall_ns = parts[0]["wall_ns"]
        if len(parts) > 1:
            first_ns = min(part["began_ns"] for part in parts)
            wall_ns = max(part["ended_ns"] for part in parts) - first_ns
        return Sample(wall_ns / count, sum(part["cpu_ns"] for part in parts) / count)

    def _line(self, member: subprocess.Popen[str]) -> str:
        assert member.stdout is not None
        line = member.stdout.readline()
        if not line:
            raise SubjectFailed(
                f"the process of {self._name!r} ended with code {member.wait()}; its error is above"
            )
        return line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members:
            if kind is not None:
                member.kill()
            member.communicate()


def scaled(count: int, scale: float) -> int:
    """A share of a count, but at least one."""
    return max(1, round(count * scale))


def missing(cases: Sequence[Case]) -> list[str]:
    """The distributions that subjects of these cases need and that are not installed."""
    wanted = {subject.package for case in cases for subject in case.subjects if subject.package}
    return sorted(name for name in wanted if not _installed(name))


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def run_case(
    case: Case, plan: Plan, absent: Sequence[str], tell: Callable[[str], None]
) -> list[Mapping[str, Sample]]:
    """The rounds of a case, each with a sample for every subject that is installed."""
    with ExitStack() as stack:
        teams = {
            subject.name: stack.enter_context(_Team(case, subject, plan))
            for subject in case.subjects
            if subject.package not in absent
        }
        for team in teams.values():
            team.wait()
        rounds: list[Mapping[str, Sample]] = []
        for number in range(1, plan.rounds + 1):
            tell(f"{case.name}: round {number} of {plan.rounds}")
            order = plan.rng.sample(sorted(teams), len(teams))
            rounds.append({name: teams[name].round() for name in order})
    return rounds
