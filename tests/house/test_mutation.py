"""The process that tests mutants: it reports tests that pass, fail, or do not end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly  # the tool's own tests, which load pytest in processes of its own

ROOT = Path(__file__).parents[2]
SUITE = """
import copied, os, time

def test_passes():
    assert copied.ANSWER == 42

def test_fails():
    assert copied.ANSWER == 43

def test_never_ends():
    time.sleep(600)

def test_dies():
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def asked(tmp_path):
    """``asked(test, patience_s)``: the process's verdict on a test in tmp_path."""
    (tmp_path / "copied.py").write_text("ANSWER = 42\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    warm = subprocess.Popen(
        [sys.executable, "-m", "evidence.mutation.warm"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def ask(test, patience_s=None):
        request = {
            "tests": f"-c {tmp_path}/pytest.ini {tmp_path}/test_suite.py::test_{test}",
            "copy": str(tmp_path),
            "patience_s": patience_s,
        }
        print(json.dumps(request), file=warm.stdin, flush=True)
        return warm.stdout.readline().strip()

    yield ask
    warm.communicate()
    assert warm.returncode == 0


def test_each_verdict(asked, tmp_path):
    assert asked("passes") == "passed"
    assert asked("fails") == "failed"
    assert asked("dies") == "failed"
    assert asked("never_ends", 1.0) == "late"
    assert asked("passes") == "passed"
    (tmp_path / "copied.py").write_text("ANSWER = 43\n")
    assert asked("passes") == "failed"  # each run imports the current copy
    assert asked("fails") == "passed"
