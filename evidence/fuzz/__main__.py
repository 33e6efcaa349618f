"""Fuzz parsers, guided by coverage: ``python -m evidence.fuzz url rows --seconds 60``.

Each target runs in its own process, from a corpus of its seeds, until the time is over or its check
fails. An input that fails is kept in ``.fuzz/``, and the command that repeats it is printed; that
command does not need atheris. The exit code is 1 if a check failed.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from evidence.fuzz.targets import TARGETS

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_FOUND = _ROOT / ".fuzz"
_LONGEST = 4096
_HANG_S = 10
_STARTING_S = 120
_RUNS = re.compile(r"stat::number_of_executed_units: +([0-9]+)")
_COVERED = re.compile(r" cov: ([0-9]+) ")


def _fuzzed(name: str, seconds: int, seed: int) -> bool:
    """Run a target and print its result. Returns whether it succeeded."""
    _FOUND.mkdir(exist_ok=True)
    before = set(_FOUND.iterdir())
    with tempfile.TemporaryDirectory(prefix="frazil-fuzz-") as folder:
        for one in TARGETS[name].seeds:
            (Path(folder) / sha256(one).hexdigest()[:16]).write_bytes(one)
        options = [f"-max_total_time={seconds}", f"-timeout={_HANG_S}", f"-max_len={_LONGEST}"]
        options += [f"-artifact_prefix={_FOUND}/{name}-", "-print_final_stats=1", f"-seed={seed}"]
        options += ["-use_value_profile=1"]  # or nothing leads from one character to the next
        done = subprocess.run(
            [sys.executable, "-m", "evidence.fuzz.guided", name, folder, *options],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + _STARTING_S,
            check=False,
        )
    runs = int(match[1]) if (match := _RUNS.search(done.stderr)) else 0
    covered = int(each[-1]) if (each := _COVERED.findall(done.stderr)) else 0
    print(f"{name}: {runs:,} inputs, {covered:,} branches reached", flush=True)
    failures = sorted(set(_FOUND.iterdir()) - before)
    for path in failures:
        print(f"{name}: python -m evidence.fuzz {name} --replay {path}", flush=True)
    if done.returncode or not runs:
        output = (done.stdout + done.stderr)[-3000:]
        print(f"{output}\n{name}: ended with {done.returncode}", file=sys.stderr, flush=True)
    return not (failures or done.returncode) and runs > 0


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m evidence.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=30, metavar="N", help="for each target")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check only this input")
    options = parser.parse_args(arguments)
    names = options.targets or list(TARGETS)
    if unknown := set(names) - set(TARGETS):
        parser.error(f"no target is called {min(unknown)!r}; there are {', '.join(TARGETS)}")
    if options.replay is not None:
        for name in names:
            TARGETS[name].check(options.replay.read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        parser.error('atheris is not installed; run: pip install ".[fuzz]"')
    failed = [name for name in names if not _fuzzed(name, options.seconds, options.seed)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
