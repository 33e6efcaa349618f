"""How many mutants the tests catch: ``python -m mutation record claim --jobs 2``.

Each mutant runs interpreted, in a copy of the package, against the file's tests from the quickest
on, until one fails. One that passes them all has survived: it is killed by a new test, or stands in
explained.toml with the reason why no test can tell it from the original. Ends with 1 if one does
neither. ``--sample N`` takes every N-th mutant, for a first look.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from mutation.lua import lua_mutants_of
from mutation.mutants import Mutant, mutants_of

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[1]
_SCRIPT_TESTS = (
    "tests/unit/test_redis.py -k valkey",
    "tests/property/test_claims_lua.py",
    "tests/conformance/test_redis.py -k valkey",
)


class Subject(NamedTuple):
    """A file, and the commands that test it, the quickest first."""

    path: str
    tests: tuple[str, ...]


_SUBJECTS = {
    "record": Subject(
        "record.py",
        (
            "tests/unit/test_record.py tests/unit/test_record_counters.py",
            "tests/conformance/test_local.py -k memory",
            "tests/property/test_claims_lua.py",
        ),
    ),
    "claim": Subject(
        "claim.py",
        (
            "tests/unit/test_claim.py tests/unit/test_record.py tests/unit/test_record_counters.py",
            "tests/unit/test_keeper.py tests/unit/test_generator.py",
            "tests/conformance/test_local.py -k memory",
        ),
    ),
    "walk": Subject(
        "walk.py",
        (
            "tests/unit/test_walk.py",
            "tests/unit/test_axes.py",
            "tests/unit/test_generator.py tests/unit/test_keeper.py",
        ),
    ),
    "keeper": Subject(
        "keeper.py",
        (
            "tests/unit/test_keeper.py",
            "tests/unit/test_generator.py tests/unit/test_trouble.py tests/unit/test_axes.py",
        ),
    ),
    "claims.lua": Subject("registries/redis/claims.lua", _SCRIPT_TESTS),
    "record.lua": Subject("registries/redis/record.lua", _SCRIPT_TESTS),
    "renew.lua": Subject("registries/redis/renew.lua", _SCRIPT_TESTS),
    "icicle.lua": Subject(
        "icicle/icicle.lua",
        (
            "tests/unit/test_icicle_script.py",
            "tests/unit/test_icicle_faults.py -k valkey",
            "tests/property/test_icicle_lua.py",
        ),
    ),
}


def _verdict(mutant: Mutant, name: str, copies: "Queue[Path]", patience_s: float) -> str:
    """Whether tests failed (caught), did not end (late), or all passed (survived)."""
    copy = copies.get()
    path = copy / "frazil" / _SUBJECTS[name].path
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8")
    try:
        for tests in _SUBJECTS[name].tests:
            if not _passes(tests, copy, patience_s):
                return "caught"
    except subprocess.TimeoutExpired:
        return "late"
    finally:
        path.write_text(original, encoding="utf-8")
        copies.put(copy)
    return "survived"


def _patience_s(name: str, copy: Path) -> float:
    """How long a file's tests may take: five times what they take without a mutant."""
    longest_s = 0.0
    for tests in _SUBJECTS[name].tests:
        begun = time.monotonic()
        if not _passes(tests, copy, None):
            raise SystemExit(f"the tests of {name} fail without a mutant: {tests}")
        longest_s = max(longest_s, time.monotonic() - begun)
    return 5 * longest_s


def _passes(tests: str, copy: Path, patience_s: float | None) -> bool:
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", *tests.split()]
    command += ["--reruns=0"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "FRAZIL_PURE": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, timeout=patience_s, check=False
    )
    return done.returncode == 0


def _explained() -> set[tuple[str, str, str]]:
    path = Path(__file__).with_name("explained.toml")
    told = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return {(each["file"], each["operator"], each["text"]) for each in told}


def _run(name: str, sample: int, copies: "Queue[Path]", jobs: int) -> int:
    """Try a file's mutants; answers how many survived and are not explained."""
    copy = copies.get()
    patience_s = _patience_s(name, copy)
    copies.put(copy)
    path = _ROOT / "src" / "frazil" / _SUBJECTS[name].path
    found = list((lua_mutants_of if path.suffix == ".lua" else mutants_of)(path))[::sample]
    explained = _explained()
    results: Counter[str] = Counter()
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = pool.map(lambda each: _verdict(each, name, copies, patience_s), found)
        for mutant, verdict in zip(found, verdicts, strict=True):
            known = verdict == "survived" and (name, mutant.operator, mutant.text) in explained
            results["explained" if known else verdict] += 1
            if verdict == "survived" and not known:
                print(f"{path.name}:{mutant.line} {mutant.operator}: {mutant.text}", flush=True)
    rate = (results["caught"] + results["late"]) / max(1, len(found))
    print(
        f"{name}: {len(found)} mutants, {results['caught']} caught and {results['late']} never "
        f"ending ({rate:.1%}), {results['explained']} explained, {results['survived']} survived",
        flush=True,
    )
    return results["survived"]


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m mutation", description=__doc__)
    parser.add_argument("files", nargs="+", choices=list(_SUBJECTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, default=1)
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="frazil-mutants-") as folder:
        copies: Queue[Path] = Queue()
        for number in range(told.jobs):
            copy = Path(folder) / str(number)
            shutil.copytree(_ROOT / "src", copy, ignore=shutil.ignore_patterns("*.so", "*.c"))
            copies.put(copy)
        survived = [_run(name, told.sample, copies, told.jobs) for name in told.files]
    return 1 if any(survived) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
