"""Copies of a process: forks that only one of the two signs shows, and restored machines."""

import struct

import pytest

import frazil
from tests.tools.python import run_python
from tests.unit.walk.test_walk import Toy, manual_identity, module

__all__ = ["module"]

START = """
import ctypes, os, sys
import frazil
import frazil.errors
from frazil.system import process
from frazil.system.process import ProcessIdentity

def kept():
    "The page of the fork word, which the kernel is told to copy after all."
    word = memoryview(ProcessIdentity().word)
    at = ctypes.addressof(ctypes.c_char.from_buffer(word))
    keep_on_fork, libc = 19, ctypes.CDLL(None)
    for size in (65536, os.sysconf("SC_PAGESIZE")):
        if libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), keep_on_fork) == 0:
            return
    raise SystemExit("madvise")

def in_child(fork, ask):
    child = fork()
    if not child:
        os._exit(ask())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

URL, SCHEME = f"sqlite:{sys.argv[1]}?horizon=10min", frazil.scheme(
    "sign:1=0 time:41 node:8 sequence:14 @1ms since 2025-01-01T00:00:00Z"
)
frazil.init(URL, SCHEME, new=True)
ids = frazil.open(URL, SCHEME, lead="8s")
"""


@pytest.fixture
def run(tmp_path):
    """Runs Python code with a file of claims of its own."""
    return lambda body, *told: run_python(START + body, str(tmp_path / "claims.db"), *told)


def test_a_fork_that_python_makes_is_seen_without_the_kernel(run):
    body = """
ids.take(100)
kept()
first = set(ids.take(100))
identity = ProcessIdentity()
assert in_child(os.fork, identity.intact) == False
theirs = in_child(os.fork, lambda: len(first & set(ids.take(10))) + (ids() == next(ids)))
assert theirs == 0
assert identity.intact()
assert ids() > max(first)
"""
    run(body)


@pytest.mark.skipif(not frazil.COMPILED, reason="Python's hooks are not run for it")
def test_a_fork_made_in_c_is_seen_without_the_kernel(run):
    run("kept()\nassert in_child(ctypes.PyDLL(None).fork, ProcessIdentity().intact) == False")


def test_a_fork_made_in_c_is_seen_by_the_kernel(run):
    run("assert in_child(ctypes.PyDLL(None).fork, ProcessIdentity().intact) == False")


def device(path, *, magic=0x4B4C4356, size=4096, flags=1 << 8, disruptions=1, generation=1):
    """A page as the hypervisor shows it."""
    head = struct.pack("<IIHBBIQQ", magic, size, 1, 0, 0, 0, disruptions, flags)
    path.write_bytes((head.ljust(104, b"\0") + struct.pack("<Q", generation)).ljust(65536, b"\0"))
    return str(path)


WATCHED = """
process.watch(sys.argv[2])
def write(at, value):
    with open(sys.argv[2], "r+b") as file:
        file.seek(at)
        file.write(value.to_bytes(8, "little"))
ids = ids.__reduce__()[0](ids.config)
def take():
    "Some IDs, and a claim that outlasts the test; nobody gets its node number meanwhile."
    found = ids.take(1000)
    while ids.status().seconds_left < 60:
        pass
    return found
before = take()
first, claim, identity = ids._walk.keeper, ids._walk.keeper.policy.claim, ids._walk.identity
"""


def test_a_machine_that_is_restored_in_a_step_leaves_its_file_unlocked(run, tmp_path):
    body = """
from pathlib import Path
from frazil.registries.sqlite.file import ClaimsFile
ended = False
try:
    with ClaimsFile(Path(sys.argv[1]), 1.0).step(synced=True):
        write(104, 2)
except frazil.errors.RegistryUnavailable:
    ended = True
assert ended
assert ids() > max(before)
"""
    run(WATCHED + body, device(tmp_path / "vmclock"))


def test_a_copy_of_a_process_in_a_step_leaves_the_connection_to_its_parent(run, tmp_path):
    """Also if the machine was restored in the same step."""
    body = """
from pathlib import Path
from frazil.registries.sqlite import forks
from frazil.registries.sqlite.file import ClaimsFile
before = len(forks.abandoned)
try:
    with ClaimsFile(Path(sys.argv[1]), 1.0).step(synced=True):
        write(104, 2)
        child = os.fork()
except frazil.errors.RegistryUnavailable:
    pass
left = len(forks.abandoned) - before
if not child:
    os._exit(left != 1)
assert left == 0
assert os.waitpid(child, 0)[1] == 0
"""
    run(WATCHED + body, device(tmp_path / "vmclock"))


@pytest.mark.parametrize(("flags", "at"), [(1 << 8, 104), (0, 16)], ids=["generation", "clock"])
def test_a_restored_machine_is_another_process(run, tmp_path, flags, at):
    body = """
at = int(sys.argv[3])
write(at, 2)
assert not identity.intact()
after = take()
assert ids._walk.keeper is not first
assert ids._walk.keeper.policy.claim.slot != claim.slot
assert not set(before) & set(after)
nodes = {ids.scheme.unpack(number)["node"] for number in after}
assert nodes == {ids._walk.keeper.policy.claim.slot}, (nodes, claim.slot)
write(at, 3)
assert ids.scheme.unpack(next(ids))["node"] not in {claim.slot, *nodes}
write(at, 1)  # as the first one had it
assert not identity.intact()
"""
    run(WATCHED + body, device(tmp_path / "vmclock", flags=flags), str(at))


@pytest.mark.parametrize("wrong", [{"magic": 1}, {"size": 100}])
def test_another_page_is_not_watched(run, tmp_path, wrong):
    body = """
write(104, 2)
write(16, 2)
assert identity.intact()
assert ids() > before[-1]
assert ids._walk.keeper is first
"""
    run(WATCHED + body, device(tmp_path / "vmclock", **wrong))


def test_a_live_migration_is_not_a_restore_if_the_kernel_distinguishes_them(run, tmp_path):
    run(WATCHED + "write(16, 2)\nassert identity.intact()", device(tmp_path / "vmclock"))


def test_the_keeper_of_another_life_changes_nothing(module):
    """Its thread outlives a restore, maybe in the middle of a request."""
    for tick_ns in (1_000_000, 0):
        toy = Toy(module, tick_ns=tick_ns)
        era = toy.identity.era
        toy.walk.adopt(1, 10, 12, 10, 0, toy.identity.ns, era + 1)
        assert not toy.walk.held
        toy.walk.adopt(1, 10, 12, 10, 0, toy.identity.ns, era)
        toy.walk.prolong(20, 10, 0, toy.identity.ns, era + 1)
        toy.walk.queue(2, 30, 40, era + 1)
        assert toy.walk.leave(era + 1) == 12
        assert (toy.walk.until, toy.walk.queued, toy.walk.held) == (12, False, True)
        assert toy.cells(1) == [(10, 1, 0)]
        assert toy.walk.leave(era) == 11


def test_a_life_begins_once(module):
    """Threads and signal handlers of a copy may all begin it, and the first may hold a claim."""
    toy = Toy(module)
    toy.adopt(10, 20)
    before, first, second = toy.identity, manual_identity(module), manual_identity(module)
    toy.walk.restart(first)
    assert toy.walk.identity is before  # this is no copy
    assert toy.cells(1) == [(10, 1, 0)]
    before.intact = lambda: False
    toy.walk.restart(before)
    assert toy.walk.held  # whoever made this identity is another's copy by now
    toy.walk.restart(first)
    assert (toy.walk.identity is first, toy.walk.held) == (True, False)
    toy.identity = first
    toy.adopt(30, 40)
    toy.walk.restart(second)
    assert toy.walk.identity is first
    assert toy.cells(1) == [(30, 1, 0)]
