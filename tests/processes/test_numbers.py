"""A static number has one owner on a host: real processes that ask for the same one."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes.harness import WORKERS
from tests.tools.waiting import until

WIDE = "sign:1=0 time:41 node:8 sequence:14 @1ms since 2025-01-01T00:00:00Z"
SLOW = WIDE.replace("sequence:14", "sequence:4")
BARE = "static:7?state=none&horizon=100ms"
NOBODY = 65534
IN_USE = "ConfigError: node number 7 of namespace 'default' is in use on this host by process"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="becoming other users needs root")


class Peer:
    """A process that does what it is told."""

    def __init__(self, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKERS / "obedient.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
            start_new_session=True,
        )

    def __call__(self, *told):
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def begin(self, url, name="ids", scheme=WIDE):
        """Open a generator and take from it."""
        assert self("open", name, url, scheme) is None
        return self("take", name, 1000)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def peer(place):
    """``peer()``: another process of this host."""
    locks = place / "locks"
    locks.mkdir()
    locks.chmod(0o1777)
    peers = []

    def start(**env):
        peers.append(Peer({"FRAZIL_LOCKS": str(locks)} | env))
        return peers[-1]

    yield start
    for each in peers:
        each.end()


def distinct(*lists):
    every = [n for each in lists for n in each]
    assert all(isinstance(n, int) for n in every), lists
    return len(set(every)) == len(every)


def test_two_processes_without_a_state_file(peer):
    first, second = peer(), peer()
    assert len(first.begin(BARE)) == 1000
    said = second.begin(BARE)
    assert IN_USE in said
    assert f"{first.process.pid} of user {os.getuid()}, without a state file" in said
    assert IN_USE in second("mint", 1, BARE, WIDE)
    assert len(first("take", "ids", 5000)) == 5000


def test_one_process_and_two_spellings(peer):
    one = peer(POD="7")
    other = "static:env:POD?state=none&horizon=100ms"
    given = [one.begin(BARE, "a", SLOW), one.begin(other, "b", SLOW)]
    assert distinct(*given, one("take_in_turn", ["a", "b"], 100, 50))


def test_after_a_crash_and_after_a_close(peer):
    first, second, third = peer(), peer(), peer()
    given = [first.begin(BARE)]
    first.kill()
    given += [second.begin(BARE)]
    assert IN_USE in third.begin(BARE)
    second("close", "ids")
    given += [third("take", "ids", 1000)]
    assert distinct(*given)


def test_a_forked_child_is_a_second_owner(peer):
    first, second = peer(), peer()
    first.begin(BARE)
    child, said = first("fork", "ids", 10)
    assert said.startswith("ConfigError: ")
    os.kill(child, 0)
    first.kill()  # and its child, which has no number, lives on
    os.kill(child, 0)
    assert len(second.begin(BARE)) == 1000


def test_two_processes_that_take_turns(peer):
    """Each of the two comes back to a number that the other had meanwhile, 50 ms ahead."""
    first, second = peer(), peer()
    given = []
    for _ in range(3):
        given += [each("mint", 800, BARE, SLOW) for each in (first, second)]
    assert distinct(*given)


def test_two_state_files(peer, place):
    first, second, third = peer(), peer(), peer()
    here, there = (f"static:7?state={place}/{name}.db&horizon=100ms" for name in ("a", "b"))
    assert len(first.begin(here)) == 1000
    for url in (there, BARE):
        said = second.begin(url)
        assert IN_USE in said
        assert f"with the state file {place}/a.db" in said
    (place / "link").symlink_to(place)
    same = f"static:7?state={place}/link/a.db&horizon=100ms"
    assert distinct(third.begin(same), first("take", "ids", 1000))
    assert len(second.begin(there.replace("static:7", "static:8"))) == 1000


def test_one_process_and_two_state_files(peer, place):
    one = peer()
    assert len(one.begin(f"static:7?state={place}/a.db&horizon=100ms", "a")) == 1000
    assert IN_USE in one.begin(f"static:7?state={place}/b.db&horizon=100ms", "b")
    one("close", "a")
    assert len(one("take", "b", 1000)) == 1000


def test_a_state_file_and_a_fork(peer, place):
    """They share the file, and so the number, in time; the child's hold is its own."""
    first, second = peer(), peer()
    url = f"static:7?state={place}/a.db&horizon=100ms"
    given = [first.begin(url)]
    _, taken = first("fork", "ids", 1000)
    first.kill()
    assert distinct(*given, taken)
    assert IN_USE in second.begin(BARE)


def test_a_lock_that_was_removed_is_made_again(peer, place):
    first, second = peer(), peer()
    first.begin(BARE)
    (lock,) = (place / "locks").iterdir()
    lock.unlink()
    until(lambda: first("take", "ids", 1000) and lock.exists(), "a renewal")
    assert IN_USE in second.begin(BARE)


@only_root
@pytest.mark.parametrize("uids", [(0, NOBODY), (NOBODY, 0), (NOBODY, 1)])
def test_two_users(peer, uids):
    first, second = peer(), peer()
    for each, uid in zip((first, second), uids, strict=True):
        each("become", uid)
    assert len(first.begin(BARE)) == 1000
    said = second.begin(BARE)
    assert IN_USE in said
    assert f"of user {uids[0]}" in said
    first.kill()
    assert len(second("take", "ids", 1000)) == 1000


def test_where_the_host_keeps_it(peer):
    """The place that nobody names is one that all users share; what is left there is removed."""
    places = [Path("/dev/shm"), Path("/tmp")]
    before = {path for each in places if each.exists() for path in each.glob("frazil-*.lock")}
    first, second = peer(FRAZIL_LOCKS=""), peer(FRAZIL_LOCKS="")
    url = BARE.replace("static:7", f"static:{os.getpid() % 256}")
    try:
        assert len(first.begin(url)) == 1000
        assert "in use on this host" in second.begin(url)
    finally:
        after = {path for each in places if each.exists() for path in each.glob("frazil-*.lock")}
        for path in after - before:
            path.unlink()


def test_a_folder_without_a_lock_file(peer, place):
    one = peer(FRAZIL_LOCKS=str(place / "nowhere"))
    said = one.begin(BARE)
    assert said.startswith("ConfigError: ")
    assert "nowhere" in said
    assert "set FRAZIL_LOCKS to a directory" in said


@pytest.mark.parametrize("how", ["link", "fifo", "folder"])
def test_a_trap_in_place_of_the_lock(peer, place, how):
    one = peer()
    one("mint", 1, BARE, WIDE)
    (lock,) = (place / "locks").iterdir()
    lock.unlink()
    target = place / "target"
    target.write_text("mine")
    if how == "link":
        lock.symlink_to(target)
    elif how == "fifo":
        os.mkfifo(lock)
    else:
        lock.mkdir()
    said = one("mint", 1, BARE, WIDE)
    assert said.startswith("ConfigError: ")
    assert str(lock) in said
    assert target.read_text() == "mine"


def test_two_state_files_in_turn(peer, place):
    """Each runs ahead by its lead and is killed; the other's file knows nothing of that."""
    given = []
    for name in "abab":
        one = peer()
        given.append(one.begin(f"static:7?state={place}/{name}.db&horizon=300ms"))
        one.kill()
    assert distinct(*given)
