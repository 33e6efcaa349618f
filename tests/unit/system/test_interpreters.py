"""Interpreters of one process (PEP 734) are members of their own: no two make the same ID."""

import json
import sys

import pytest

import frazil
from tests.canary import canary
from tests.tools.python import run_python

pytestmark = [
    pytest.mark.skipif(
        sys.version_info < (3, 14), reason="concurrent.interpreters is new in Python 3.14"
    ),
    pytest.mark.skipif(sys.platform == "win32", reason="sqlite: and static: are for POSIX systems"),
]

COUNT = 20_000

# Four interpreters, one of them the main one, have a generator each at the same time.
PROGRAM = """
import json, sys, threading
from concurrent import interpreters

url, scheme, broken, count = sys.argv[1:]
CODE = f'''
import time
import frazil
from frazil.registries import memory

if {broken!r} == "records":
    memory._is_main_interpreter = lambda: True
try:
    if {scheme!r} == "tickets":
        frazil.init({url!r}, {scheme!r}, start=1)
    with frazil.open({url!r}, {scheme!r}) as ids:
        first = ids()
        here.put(0)
        while here.qsize() < 4:
            time.sleep(0.01)
        made.put((frazil.COMPILED, [first, *ids.take({count} - 1)]))
except frazil.FrazilError as error:
    here.put(0)
    made.put((type(error).__name__, str(error)))
'''
queues = {"made": interpreters.create_queue(), "here": interpreters.create_queue()}
several = [interpreters.create() for _ in range(3)]
for one in several:
    one.prepare_main(**queues)
threads = [threading.Thread(target=one.exec, args=(CODE,)) for one in several]
for thread in threads:
    thread.start()
exec(CODE, queues)
for thread in threads:
    thread.join()
print(json.dumps([queues["made"].get(timeout=60) for _ in range(4)]))
for one in several:
    one.close()  # which takes back what it put into a queue
"""


def said_by_four(url, scheme="icicle", broken=""):
    """What each says: whether it is compiled, and its IDs; or its error."""
    return json.loads(run_python(PROGRAM, url, scheme, broken, str(COUNT)).stdout)


def made(said):
    return [number for _, numbers in said for number in numbers]


def test_each_has_claims_of_its_own(tmp_path):
    said = said_by_four(f"sqlite:{tmp_path}/claims.db")
    assert len(set(made(said))) == len(made(said)) == 4 * COUNT
    unpack = frazil.scheme("icicle").unpack
    nodes = [{unpack(number).node for number in numbers} for _, numbers in said]
    assert sum(map(len, nodes)) == len(set().union(*nodes)) >= 4
    # Python loads what Cython compiled in the main interpreter only; the others interpret it.
    assert sorted(compiled for compiled, _ in said) == [False] * 3 + [frazil.COMPILED]


def test_memory_is_refused_outside_of_the_main_interpreter():
    said = said_by_four("memory:", "tickets")
    refused = [text for kind, text in said if kind == "ConfigError"]
    assert len(refused) == 3
    assert all("in the main interpreter only" in text for text in refused)


@canary
def test_memory_would_repeat():
    said = said_by_four("memory:", "tickets", "records")
    assert len(set(made(said))) < len(made(said)) == 4 * COUNT


def test_a_number_without_a_file_has_one_owner(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAZIL_LOCKS", str(tmp_path))
    said = said_by_four("static:7?state=none&horizon=1s")
    refused = [text for kind, text in said if kind == "ConfigError"]
    assert len(refused) == 3
    assert all("in use on this host" in text for text in refused)
