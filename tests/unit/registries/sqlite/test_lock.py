"""The lock on a file of claims: how waiting processes share it."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

import frazil
from frazil.errors import RegistryUnavailable
from frazil.registries import connect
from frazil.registries.base import reading_ns
from frazil.registries.sqlite import forks, lock
from frazil.system.clock import boot_ns
from tests.tools.verbs import grant


def test_a_long_waiter_retries_more_often(tmp_path, monkeypatch):
    path = tmp_path / "claims.db"
    path.touch()
    now_s, naps = [0.0], []

    def sleep(nap_s):
        naps.append((now_s[0], nap_s))
        now_s[0] += nap_s

    monkeypatch.setattr(lock, "boot_s", lambda: now_s[0])
    monkeypatch.setattr(lock, "time", SimpleNamespace(sleep=sleep))
    held = lock.RevisionFile(path, 1)
    with pytest.raises(RegistryUnavailable, match="has held it since"):
        lock.RevisionFile(path, 10)
    held.close()
    longest = max(nap_s for _, nap_s in naps)
    late = [nap_s for at_s, nap_s in naps if at_s > 9]
    assert max(late) < longest / 20


def test_a_deleted_file_is_not_a_lock(tmp_path, monkeypatch):
    """The next process would create and lock another file, so both would be inside."""
    path = tmp_path / "claims.db"
    path.touch()
    notes = tmp_path / "claims.db-revision"
    opened = lock._opened
    deleted = []

    def deleted_once(*told):
        file = opened(*told)
        if not deleted:
            deleted.append(file)
            notes.unlink()
        return file

    monkeypatch.setattr(lock, "_opened", deleted_once)
    held = lock.RevisionFile(path, 1)
    assert held.inode == notes.stat().st_ino
    held.close()


def test_no_file_stays_open_if_the_main_file_was_deleted(tmp_path):
    with pytest.raises(FileNotFoundError):
        lock.RevisionFile(tmp_path / "claims.db", 1)
    assert not list(forks._open)


FORKED_WHILE_HELD = """
import os, sys, threading, time
from pathlib import Path
from frazil.registries.sqlite.lock import RevisionFile

held = threading.Event()

def hold():
    lock = RevisionFile(Path(sys.argv[1]), 1)
    held.set()
    time.sleep(300)

threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    os.write(1, b"%d\\n" % os.getpid())
time.sleep(300)
"""


def test_a_child_does_not_hold_the_lock_of_a_parent_that_was_killed(tmp_path):
    path = tmp_path / "claims.db"
    path.touch()
    command = [sys.executable, "-c", FORKED_WHILE_HELD, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        try:
            with pytest.raises(RegistryUnavailable):
                lock.RevisionFile(path, 0.1)
            parent.kill()
            parent.wait()
            lock.RevisionFile(path, 5).close()
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_clock_is_read_at_the_end_of_the_wait(tmp_path):
    frazil.mint(1, f"sqlite:{tmp_path}/claims.db")
    registry = connect(f"sqlite:{tmp_path}/claims.db", "default", frazil.scheme())
    freed_ns = []
    with (tmp_path / "claims.db-revision").open("r+b") as file:

        def free():
            freed_ns.append(boot_ns())
            fcntl.flock(file, fcntl.LOCK_UN)

        fcntl.flock(file, fcntl.LOCK_EX)
        timer = threading.Timer(0.5, free)
        timer.start()
        sent_ns = boot_ns()
        grant(registry, 1)
        read_ns = reading_ns(registry, sent_ns, boot_ns())
        timer.join()
    assert read_ns >= freed_ns[0]
