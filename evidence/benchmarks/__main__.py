"""The command ``python -m evidence.benchmarks``; the package says what it measures, and why.

The exit code is 1 if an ID of frazil repeats or a subject fails, and 2 for wrong arguments.
"""

import argparse
import json
import random
import secrets
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evidence.benchmarks.cases import CASES, Case
from evidence.benchmarks.kept import Repeats, check
from evidence.benchmarks.report import Report, setting, versions
from evidence.benchmarks.runner import ROOT, Plan, SubjectFailed, missing, run_case

__all__ = ["main"]

_ROUNDS = 21
_QUICK = 3, 0.1


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks",
        description="Measure frazil beside its peers, as ratios.",
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="few rounds, small ones; only prints")
    add("--cases", nargs="+", choices=CASES, default=list(CASES), help="only these")
    add("--rounds", type=int, help=f"default {_ROUNDS}, quick {_QUICK[0]}")
    add("--scale", type=float, help="how much of each batch count a round runs; default 1")
    add("--seed", type=int, help="of the order of subjects; printed, random unless given")
    add("--url", help="frazil's registry; default: a new SQLite file")
    add("--strict", action="store_true", help="fail if a peer is not installed")
    add("--out", type=Path, help="where the table goes; default BENCHMARKS.md, none with --quick")
    add("--json", action="store_true", help="print everything as JSON, every round included")
    return parser.parse_args(arguments)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def measure(options: argparse.Namespace, cases: Sequence[Case], command: str) -> Report:
    """Run the cases and check every ID. Raises Repeats and SubjectFailed."""
    absent = missing(cases)
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    _tell(f"seed {seed}")
    rounds, scale = _QUICK if options.quick else (_ROUNDS, 1.0)
    rounds = options.rounds or rounds
    with tempfile.TemporaryDirectory(prefix="frazil-benchmarks-") as temporary:
        kept = Path(temporary, "ids")
        kept.mkdir()
        url = options.url or f"sqlite:///{temporary}/registry.db"
        plan = Plan(url, kept, rounds, options.scale or scale, random.Random(seed))
        found = [(case, run_case(case, plan, absent, _tell)) for case in cases]
        _tell("searching for repeats")
        counts = check(kept)
    packages = {subject.package for case in cases for subject in case.subjects if subject.package}
    return Report(
        setting(command, seed, rounds, options.url or "SQLite, a new file"),
        versions(sorted(packages - set(absent))),
        absent,
        counts,
        found,
    )


def main(arguments: Sequence[str]) -> int:
    """Measure, print and write. Returns the exit code."""
    options = _options(arguments)
    cases = [CASES[name] for name in options.cases]
    absent = missing(cases)
    if absent and options.strict:
        _tell(f'missing: {", ".join(absent)}; run: pip install ".[bench]"')
        return 1
    command = shlex.join(["python", "-m", "evidence.benchmarks", *arguments])
    try:
        report = measure(options, cases, command)
    except (Repeats, SubjectFailed) as error:
        _tell(f"error: {error}")
        return 1
    page = report.as_markdown()
    print(json.dumps(report.as_json(), indent=2) if options.json else page)
    out = options.out or (None if options.quick else ROOT / "BENCHMARKS.md")
    if out is not None:
        out.write_text(page, encoding="utf-8")
        _tell(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
