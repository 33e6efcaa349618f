"""How many mutants the tests catch: ``python -m evidence.mutation record claim --jobs 2``.

Each mutant runs interpreted, in a copy of the package, against the file's tests, the quickest
first, until one fails. A mutant that passes them all has survived: write a test that catches it, or
list it in explained.toml with the reason why no test can. The exit code is 1 if there is neither.
``--sample N`` takes every N-th mutant, for a first look, and ``--lines 100-120`` those of some
lines.
"""

import argparse
import json
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

from rich.console import Console
from rich.progress import track

from evidence.mutation.lua import lua_mutants_of
from evidence.mutation.mutant import Mutant

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_SCRIPT_TESTS = (
    "tests/unit/registries/redis/test_renewals.py -k valkey",
    "tests/property/test_claims_limits.py",
    "tests/unit/registries/redis/test_registry.py -k valkey",
    "tests/property/test_claims_lua.py",
    "tests/unit/registries/redis/test_servers.py -k TestReplicas",
    "tests/conformance/test_redis.py -k valkey",
)


class Subject(NamedTuple):
    """A file, and the commands that test it, the quickest first."""

    path: str
    tests: tuple[str, ...]


_SUBJECTS = {
    "record": Subject(
        "claims/record.py",
        (
            "tests/unit/claims",
            "tests/conformance/test_local.py -k time_of_its_own",
            "tests/property/test_claims_limits.py",
            "tests/conformance/test_local.py -k memory",
            "tests/property/test_claims_lua.py",
        ),
    ),
    "claim": Subject(
        "claims/claim.py",
        (
            "tests/unit/claims/test_claim.py",
            "tests/unit/claims/test_record.py",
            "tests/unit/generator/test_keeper.py tests/unit/generator/test_generator.py",
            "tests/conformance/test_local.py -k memory",
        ),
    ),
    "walk": Subject(
        "walk/walk.py",
        (
            "tests/unit/walk",
            "tests/unit/generator/test_axes.py",
            "tests/unit/generator/test_keeper.py",
            "tests/unit/generator/test_generator.py -k not(chibrary)",
        ),
    ),
    **{
        name: Subject(
            f"generator/{name}.py",
            (
                "tests/unit/generator/test_keeper.py tests/unit/generator/test_keeper_looks.py",
                "tests/unit/generator/test_keeper_close.py",
                "tests/unit/generator/test_generator.py",
                "tests/unit/generator/test_complaints.py tests/unit/generator/test_axes.py",
                "tests/unit/generator/test_keeper_warm.py tests/unit/generator/test_keeper_slow.py",
                "tests/unit/generator/test_pacing.py tests/unit/generator/test_keeper_scarce.py",
                "tests/processes/test_endings.py",
            ),
        )
        for name in ("keeper_policy", "timed_policy", "block_policy")
    },
    "keeper": Subject(
        "generator/keeper.py",
        (
            "tests/unit/generator/test_keeper.py tests/unit/generator/test_keeper_close.py",
            "tests/unit/generator/test_generator.py",
            "tests/unit/generator/test_calls.py tests/unit/system/test_lives.py",
            "tests/processes/test_endings.py",
        ),
    ),
    "store_thread": Subject(
        "generator/store_thread.py",
        (
            "tests/unit/generator/test_store_thread.py",
            "tests/unit/generator/test_generator.py tests/unit/generator/test_keeper_close.py",
            "tests/processes/test_endings.py",
        ),
    ),
    "claims.lua": Subject("registries/redis/claims.lua", _SCRIPT_TESTS),
    "record.lua": Subject("registries/redis/record.lua", _SCRIPT_TESTS),
    "renew.lua": Subject("registries/redis/renew.lua", _SCRIPT_TESTS),
    "icicle.lua": Subject(
        "remote/icicle/icicle.lua",
        (
            "tests/property/test_icicle_model.py",
            "tests/unit/remote/icicle/test_script.py",
            "tests/unit/remote/icicle/test_script_replicas.py -k valkey",
            "tests/unit/remote/icicle/test_script_faults.py -k valkey",
        ),
    ),
}


class _Copy:
    """A copy of the package, and the process that runs tests on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(_ROOT / "src", folder, ignore=shutil.ignore_patterns("*.so", "*.c"))
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "evidence.mutation.warm"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def outcome(self, tests: str, patience_s: float | None = None) -> str:
        """Run tests. Returns passed, failed, or late."""
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        request = {"tests": tests, "copy": str(self.folder), "patience_s": patience_s}
        print(json.dumps(request), file=self._warm.stdin, flush=True)
        outcome = self._warm.stdout.readline().strip()
        if not outcome:
            raise SystemExit("the process that runs the tests ended early")
        return outcome

    def close(self) -> None:
        """End the process."""
        self._warm.communicate()


def _verdict(mutant: Mutant, name: str, copies: "Queue[_Copy]", patience: dict[str, float]) -> str:
    """Whether tests failed (caught), did not end (late), or all passed (survived)."""
    copy = copies.get()
    path = copy.folder / "frazil" / _SUBJECTS[name].path
    original = path.read_text(encoding="utf-8")
    path.write_text(mutant.source, encoding="utf-8")
    try:
        for tests, patience_s in patience.items():
            outcome = copy.outcome(tests, patience_s)
            if outcome != "passed":
                return "late" if outcome == "late" else "caught"
    finally:
        path.write_text(original, encoding="utf-8")
        copies.put(copy)
    return "survived"


def _patience(name: str, copy: _Copy) -> dict[str, float]:
    """The time limit of each of a file's tests: five times its time without a mutant."""
    patience = {}
    for tests in _SUBJECTS[name].tests:
        begun = time.monotonic()
        if copy.outcome(tests) != "passed":
            raise SystemExit(f"the tests of {name} fail without a mutant: {tests}")
        patience[tests] = 5 * (time.monotonic() - begun)
    return patience


def _explained() -> set[tuple[str, str, str]]:
    path = Path(__file__).with_name("explained.toml")
    listed = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return {(each["file"], each["operator"], line) for each in listed for line in each["lines"]}


def _lines(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _mutants(name: str, sample: int, lines: range) -> list[Mutant]:
    """The mutants of a file to try."""
    path = _ROOT / "src" / "frazil" / _SUBJECTS[name].path
    if path.suffix == ".lua":
        every = lua_mutants_of(path)
    else:
        from evidence.mutation.mutants import mutants_of  # which a script does not need

        every = mutants_of(path)
    return [mutant for mutant in every if mutant.line in lines][::sample]


def _run(name: str, found: Sequence[Mutant], idle: Sequence[_Copy]) -> int:
    """Try a file's mutants. Returns how many survived and are not explained.

    All are run: an explanation names a line's text, and the other mutants of that line must be
    caught.
    """
    patience = _patience(name, idle[0])
    copies: Queue[_Copy] = Queue()
    for copy in idle:
        copies.put(copy)
    explained = _explained()
    results: Counter[str] = Counter()
    with ThreadPoolExecutor(len(idle)) as pool:
        verdicts = pool.map(lambda each: _verdict(each, name, copies, patience), found)
        judged = zip(found, verdicts, strict=True)
        for mutant, verdict in track(judged, name, len(found), console=Console(stderr=True)):
            known = verdict == "survived" and (name, mutant.operator, mutant.text) in explained
            results["explained" if known else verdict] += 1
            if verdict == "survived" and not known:
                print(f"{name}:{mutant.line} {mutant.operator}: {mutant.text}", flush=True)
    rate = (results["caught"] + results["late"]) / max(1, len(found))
    print(
        f"{name}: {len(found)} mutants, {results['caught']} caught and {results['late']} never "
        f"ending ({rate:.1%}), {results['explained']} explained, {results['survived']} survived",
        flush=True,
    )
    return results["survived"]


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m evidence.mutation", description=__doc__)
    parser.add_argument("files", nargs="+", choices=list(_SUBJECTS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--lines", type=_lines, default="1-1000000", metavar="FIRST-LAST")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="frazil-mutants-") as folder:
        copies = [_Copy(Path(folder) / str(number)) for number in range(options.jobs)]
        try:
            survived = [
                _run(name, _mutants(name, options.sample, options.lines), copies)
                for name in options.files
            ]
        finally:
            for copy in copies:
                copy.close()
    return 1 if any(survived) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
