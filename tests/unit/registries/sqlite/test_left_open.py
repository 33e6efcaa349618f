"""Nothing of SQLite is left open by a program that never closes its generator."""

import subprocess
import sys

import pytest

COUNTED = """
import gc, os, sqlite3, sys, time
import frazil
from frazil.registries.sqlite.registry import SqliteRegistry

connect, opened, closed = sqlite3.connect, [], []

class Counted(sqlite3.Connection):
    def close(self):
        closed.append(os.getpid())
        super().close()

def counted(*where, **options):
    opened.append(os.getpid())
    return connect(*where, factory=Counted, **options)

sqlite3.connect = counted
ids = frazil.open(sys.argv[1])
ids()
"""
ENDS = {
    "unclosed": "",
    "collected": "del ids\ngc.collect()\n",
    "forked": """
child = os.fork()
ids()
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
    "forked in C": """
from frazil_torture.life import fork_c
child = fork_c()
ids()
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
}
COMPARED = """
def left():
    return opened.count(os.getpid()) - closed.count(os.getpid())

ends_s = time.monotonic() + 30
while left() and time.monotonic() < ends_s:  # the store's thread may be about to close the last one
    time.sleep(0.01)
assert os.getpid() in opened and not left(), (opened, closed)
"""
INSIDE = """
store, children = SqliteRegistry._store, []

def forking(self, db, record):
    store(self, db, record)  # a child that still read through SQLite could meet a truncated index
    if not children:
        children.append(os.fork())

SqliteRegistry._store = forking
other = frazil.open(sys.argv[1], namespace="other")
other()
assert os.waitpid(children[0], 0)[1] == 0
"""


def written(tmp_path, script):
    """What a program wrote to stderr, with each ResourceWarning shown."""
    quiet = ["-W", "ignore::DeprecationWarning", "-W", "always::ResourceWarning"]
    command = [sys.executable, *quiet, "-c", script, f"sqlite://{tmp_path}/claims.db"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stderr


@pytest.mark.parametrize("end", ENDS)
def test_each_connection_is_closed(tmp_path, end):
    assert written(tmp_path, COUNTED + ENDS[end] + COMPARED) == ""


def test_a_child_forked_inside_a_step_closes_its_copy_of_the_lock(tmp_path):
    assert written(tmp_path, COUNTED + INSIDE) == ""
