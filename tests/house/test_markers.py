"""Markers are on all tests that they are for, and the tables of them name what is there.

And what is skipped says why.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.markers import (
    BUILT_ON_WALKS,
    FIRST,
    INTERPRETED,
    LONG,
    WALKS,
    is_in,
    longest_first,
    marks,
)

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("path", sorted(BUILT_ON_WALKS | INTERPRETED | LONG | set(FIRST)))
def test_a_table_names_what_is_there(path):
    assert (TESTS / path).exists()
    assert any(is_in(file, {path}) for file in FILES)


def test_what_imports_a_walk_runs_with_both_engines():
    walking = [file for file in FILES if WALKS.search(file.read_text(encoding="utf-8"))]
    assert len(walking) > 30
    once = [file for file in walking if not is_in(file, INTERPRETED | BUILT_ON_WALKS)]
    assert once == []


def test_marks_of_a_file():
    assert marks(TESTS / "processes" / "test_forks.py") == ["long", "interpreted"]
    assert marks(TESTS / "processes" / "test_files.py") == ["long"]
    assert marks(TESTS / "unit" / "walk" / "test_walk.py") == ["interpreted"]
    assert marks(TESTS / "unit" / "cli" / "test_cli.py") == []


@pytest.mark.parametrize("workers", [1, 3])
def test_each_share_begins_with_what_takes_long(workers):
    """Shares are as in xdist's ``WorkStealingScheduling``."""
    names = [f"tests/other.py::test_{number}" for number in range(100)]
    names += [f"tests/{path}::test" for path in FIRST]
    ordered = longest_first(names, workers)
    assert sorted(ordered) == list(range(len(names)))
    begin = 0
    for worker in range(workers):
        assert names[ordered[begin]] == f"tests/{FIRST[worker]}::test"
        begin += (len(names) - begin) // (workers - worker)


NO_MODULE = "import no_such_file"
NO_PACKAGE = """
import sys

def test_that_needs_it():
    try:
        import no_such_test.part
    except ImportError as error:
        raise ValueError(f"as frazil says it ({error})") from None

def test_that_fails_without_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    import pytest
"""


@pytest.mark.parametrize(
    ("ci", "ends"), [("", "1 failed, 2 skipped"), ("true", "2 failed, 1 error")]
)
def test_a_package_that_is_not_installed(tmp_path, ci, ends):
    """Not every Python has each of them: a test skips and names it, where CI fails."""
    (tmp_path / "test_file.py").write_text(NO_MODULE)
    (tmp_path / "test_two.py").write_text(NO_PACKAGE)
    (tmp_path / "pytest.ini").touch()
    options = ["-rs", "-ptests.conftest", "--continue-on-collection-errors"]
    options += [f"-c{tmp_path}/pytest.ini", f"--rootdir={tmp_path}"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=TESTS.parent,
        env=os.environ | {"CI": ci, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ends in run.stdout, run.stdout + run.stderr
    assert ci or all(f"'no_such_{what}'" in run.stdout for what in ("file", "test"))
