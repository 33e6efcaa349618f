"""Forks beside the steps of a file: neither waits for the other without need."""

import os
import subprocess
import sys
import threading
import time

import pytest

import frazil
from frazil.registries import connect
from frazil.registries.sqlite import forks
from frazil.registries.sqlite.lock import RevisionFile
from frazil.system import fork_gate
from tests.tools.verbs import grant, new


def test_the_lock_is_not_kept_while_a_fork_is_waited_for(tmp_path, monkeypatch):
    """Another at-fork hook may take long, and other processes continue meanwhile."""
    monkeypatch.setattr(fork_gate, "PATIENCE_S", 60)
    path = tmp_path / "claims.db"
    registry = new(f"sqlite:{path}", "default", frazil.scheme("icicle"))
    shut, reopen = threading.Event(), threading.Event()

    def fork():
        forks = 1
        fork_gate._the.shut()
        shut.set()
        while not reopen.wait(0.02):  # one after the other: the gate stays shut
            fork_gate._the.shut()
            forks += 1
        for _ in range(forks):
            fork_gate._the.reopen()

    threads = [threading.Thread(target=fork), threading.Thread(target=lambda: grant(registry, 1))]
    threads[0].start()
    shut.wait(10)
    threads[1].start()
    try:
        for _ in range(5):
            RevisionFile(path, 1.0).close()
            time.sleep(0.05)
        assert threads[1].is_alive()
    finally:
        reopen.set()
        for thread in threads:
            thread.join()


def test_forks_do_not_wait_for_a_thread_that_waits_for_the_file(tmp_path, monkeypatch):
    """Two threads fork while another waits for a file that another process keeps locked."""
    path = tmp_path / "claims.db"
    url = f"sqlite:{path}?busy=10min"
    new(url, "default", frazil.scheme("icicle"))
    held = RevisionFile(path, 1.0)
    registry = connect(url, "default", frazil.scheme("icicle"))
    entered, enter = [], forks.enter
    monkeypatch.setattr(forks, "enter", lambda until_s: entered.append(1) or enter(until_s))
    waits = threading.Thread(target=lambda: grant(registry, 1))
    waits.start()
    time.sleep(0.2)

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    forking = [threading.Thread(target=fork) for _ in range(2)]
    try:
        for thread in forking:
            thread.start()
        for thread in forking:
            thread.join(60)
        assert not any(thread.is_alive() for thread in forking)
        assert waits.is_alive()
        assert not entered  # a fork waits for who has entered
    finally:
        held.close()
        waits.join()


ASKS = """
import os, signal, sys, threading, time

asked, hook, generators = [], sys.argv[1], []
reading, writing = os.pipe()

def draw(*_):
    if generators:
        begun = time.monotonic()
        generators.pop()()
        asked.append(time.monotonic() - begun)

def strike():
    if generators:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.001)  # its handler runs here, inside the hook

def mint():
    if generators:
        begun = time.monotonic()
        frazil.mint(1, sys.argv[2])
        asked.append(time.monotonic() - begun)

where, _, how = hook.partition(" ")
how = {"": draw, "signal": strike, "mint": mint}[how]
os.register_at_fork(**{where: how})  # so frazil's gate is shut before it, and opened after it

import frazil

signal.signal(signal.SIGUSR1, draw)
frazil.init(sys.argv[2], if_missing=True)

def fork():
    child = os.fork()
    if not child:
        os.write(writing, str(max(asked, default=99)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    if where == "after_in_child":
        asked.append(float(os.read(reading, 100)))

generators += [frazil.open(sys.argv[2]) for _ in range(3)]  # none has a claim yet
fork()
thread = threading.Thread(target=fork)
thread.start()
thread.join()
assert len(asked) == 2, asked
print(max(asked))
"""
QUIET = ["-W", "ignore::DeprecationWarning"]  # Python 3.12 warns of forks beside threads
HOOKS = ("before", "after_in_parent", "after_in_child", "before signal", "before mint")


def lasts_s(script, *arguments):
    """The least of some runs of a script that prints how long something lasted.

    What waits for a time limit waits in each of them, and a busy machine is not always late.
    """
    runs = []
    while len(runs) < 5 and not (runs and runs[-1] < 1.5):
        command = [sys.executable, *QUIET, "-c", script, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        runs.append(float(done.stdout))
    return min(runs)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_asks_for_an_id(tmp_path, hook):
    """The thread that asks is about to fork, or has forked, and the store's thread must go on."""
    assert lasts_s(ASKS, hook, f"sqlite:{tmp_path}/claims.db") < 1.5  # it took two seconds


LOCKED = """
import os, sys, threading, time

lock, begun = threading.Lock(), threading.Event()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release)

import frazil

frazil.init(sys.argv[1], if_missing=True)
ids = frazil.open(sys.argv[1])

def log():
    with lock:
        begun.set()
        time.sleep(0.2)
        ids()

thread = threading.Thread(target=log)
thread.start()
begun.wait()
begun = time.monotonic()
child = os.fork()
if not child:
    os._exit(0)
print(time.monotonic() - begun)
os.waitpid(child, 0)
thread.join()
"""


def test_a_hook_that_waits_for_a_thread_that_asks_for_an_id(tmp_path):
    """As the hook of ``logging`` does, if a formatter asks for one."""
    assert lasts_s(LOCKED, f"sqlite:{tmp_path}/claims.db") < 1.5  # it took more than two seconds
