"""A fork waits for an import of another thread, so the child can import the same module."""

import subprocess
import sys

import pytest

from frazil.system.imports import load

__all__: list[str] = []

FORKS = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from frazil.system.imports import load

begun = threading.Thread(target=load, args=["slow"])
begun.start()
while "slow" not in sys.modules:
    time.sleep(0.001)
child = os.fork()
if not child:
    print(load("slow").ready, flush=True)
    os._exit(0)
begun.join()
os.waitpid(child, 0)
"""


def test_a_fork_while_another_thread_imports(tmp_path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.5)\nready = 'imported'\n")
    command = [sys.executable, "-c", FORKS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["imported"]


def test_a_fork_during_ones_own_import(tmp_path):
    (tmp_path / "forks.py").write_text(
        "import os\nchild = os.fork()\nif not child:\n    os._exit(7)\n"
        "code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
    )
    script = FORKS.split("begun =", maxsplit=1)[0] + "print(load('forks').code)"
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["7"]


def test_a_fork_in_c(tmp_path):
    """No hook runs before it, and nothing is written about the hook in the child."""
    script = (
        "from frazil.system.imports import load\n"
        "from frazil.torture.life import fork_c\n"
        "import os\n"
        "child = fork_c()\n"
        "load('json')\n"
        "if not child:\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""


def test_what_the_import_raises_is_raised():
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        load("frazil.nothing")
