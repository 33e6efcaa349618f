"""A fork waits for an import of another thread, so the child can import the same module.

And a package that cannot be loaded, or is there in two ways.
"""

import sys
from hashlib import sha256

import pytest

from frazil.system import digest as module
from frazil.system.extras import missing_extra
from frazil.system.imports import load
from tests.tools.python import run_python

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
    done = run_python(FORKS, str(tmp_path))
    assert done.stdout.split() == ["imported"]


def test_a_fork_during_ones_own_import(tmp_path):
    (tmp_path / "forks.py").write_text(
        "import os\nchild = os.fork()\nif not child:\n    os._exit(7)\n"
        "code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])\n"
    )
    script = FORKS.split("begun =", maxsplit=1)[0] + "print(load('forks').code)"
    done = run_python(script, str(tmp_path))
    assert done.stdout.split() == ["7"]


def test_a_fork_in_c(tmp_path):
    """No hook runs before it, and nothing is written about the hook in the child."""
    script = (
        "from frazil.system.imports import load\n"
        "from frazil_torture.life import fork_c\n"
        "import os\n"
        "child = fork_c()\n"
        "load('json')\n"
        "if not child:\n    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    done = run_python(script)
    assert done.stderr == ""


def test_what_the_import_raises_is_raised():
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        load("frazil.nothing")


NESTED = """
import os, signal, sys, threading

first = os.getpid()
begun = []

def fork_inside():
    if not begun:
        begun.append(True)
        os.fork()

if sys.argv[1] == "signal":
    signal.signal(signal.SIGUSR1, lambda *args: fork_inside())
    os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGUSR1))
else:
    os.register_at_fork(**{sys.argv[1]: fork_inside})

from frazil.system.imports import load

os.fork()
thread = threading.Thread(target=load, args=["json"], daemon=True)
thread.start()
thread.join(5)
free = not thread.is_alive()
try:
    while True:
        free &= os.wait()[1] == 0
except ChildProcessError:
    pass
if os.getpid() != first:
    os._exit(not free)
print("free" if free else "held")
"""


@pytest.mark.parametrize("hook", ["before", "after_in_parent", "after_in_child", "signal"])
def test_a_fork_inside_the_hook_of_another_fork(hook):
    """In every process that it leaves, another thread can import."""
    done = run_python(NESTED, hook)
    assert (done.stdout.split(), done.stderr) == (["free"], "")


@pytest.mark.parametrize("without", [(), ("_sha2",), ("_sha2", "_sha256")])
def test_each_module_has_the_same_hash(monkeypatch, without):
    for name in without:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(module, "_HASH", module._sha256())
    text = f"time:41 node:10, not in the cache {without}"
    assert module.digest(text) == sha256(text.encode()).hexdigest()[:16]


STEP = 'arrays need numpy; frazil is not on PyPI yet; in a checkout, run: pip install ".[numpy]"'


def test_a_package_that_is_installed_and_cannot_be_loaded():
    """As numpy, whose first import an exception of a signal handler has ended."""
    said = "cannot load module more than once per process"
    error = missing_extra("arrays need numpy", "numpy", ImportError(said))
    assert str(error) == f"{STEP}; if it is installed, start the program again ({said})"
