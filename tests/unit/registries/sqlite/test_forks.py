"""The gate between forks and steps, in C and in Python."""

import os
import threading
import time

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.sqlite import forks
from frazil.registries.sqlite.lock import RevisionFile

GATES = {"python": forks._PureGate}
if not isinstance(forks._the, forks._PureGate):
    GATES["c"] = lambda: forks._the


@pytest.fixture(params=GATES)
def gate(request):
    return GATES[request.param]()


def elsewhere(work):
    """Do something in another thread, and answer what came of it."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(work()))
    thread.start()
    thread.join()
    return answers[0]


def test_no_thread_enters_while_another_forks(gate):
    gate.shut()
    refused = elsewhere(lambda: (gate.enter(), gate.leave()))
    gate.reopen()
    assert refused[0] is False
    assert gate.enter() is True
    gate.leave()


def test_a_thread_may_enter_while_it_forks(gate):
    """A hook that makes an ID."""
    gate.shut()
    entered = gate.enter()
    gate.leave()
    gate.reopen()
    assert entered is True


def test_no_thread_enters_before_the_last_of_two_nested_forks(gate):
    """Another at-fork hook may fork, and the first fork is still to come."""
    gate.shut()
    gate.shut()
    gate.reopen()
    refused = elsewhere(lambda: (gate.enter(), gate.leave()))
    gate.reopen()
    assert refused[0] is False
    assert elsewhere(lambda: (gate.enter(), gate.leave()))[0] is True


def test_the_child_of_a_hook_that_forks_may_enter(gate):
    """It completes the fork that the hook was part of, although its gate has started again."""
    gate.shut()
    child = os.fork()
    gate.reopen()
    entered = gate.enter()
    gate.leave()
    if child == 0:
        os._exit(0 if entered else 1)
    assert entered
    assert os.waitpid(child, 0)[1] == 0


def test_a_thread_inside_may_enter_again_while_another_forks(gate):
    assert gate.enter()
    forking = threading.Thread(target=lambda: (gate.shut(), gate.reopen()))
    forking.start()
    assert gate.enter()
    gate.leave()
    gate.leave()
    forking.join()


def test_a_fork_waits_for_those_inside(gate):
    inside, out, order = threading.Event(), threading.Event(), []

    def step():
        gate.enter()
        inside.set()
        out.wait(10)
        order.append("out")
        gate.leave()

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait(10)
    threading.Timer(0.05, out.set).start()
    gate.shut()
    order.append("forked")
    gate.reopen()
    thread.join()
    assert order == ["out", "forked"]


def test_a_child_of_a_fork_that_waited_in_vain_knows(gate):
    """It was cut off a thread that is inside, and inside for longer than a fork waits."""
    inside, out = threading.Event(), threading.Event()

    def step():
        gate.enter()
        inside.set()
        out.wait(20)
        gate.leave()

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait(10)
    child = os.fork()
    if child == 0:
        entered = gate.enter()
        os._exit(0 if entered and gate.cut() else 1)
    out.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert not gate.cut()


def test_a_child_from_inside_is_not_cut(gate):
    """A handler that forks in the middle of its own thread's step."""
    gate.enter()
    child = os.fork()
    if child == 0:
        gate.leave()
        os._exit(1 if gate.cut() else 0)
    gate.leave()
    assert os.waitpid(child, 0)[1] == 0


def test_the_lock_is_not_kept_while_a_fork_is_waited_for(tmp_path):
    """Another at-fork hook may take long, and other processes continue meanwhile."""
    path = tmp_path / "claims.db"
    registry = connect(f"sqlite:{path}", "default", frazil.scheme("icicle"))
    registry.initialise(ask_of(LastSeen()), 0)
    shut, reopen = threading.Event(), threading.Event()

    def fork():
        forks._the.shut()
        shut.set()
        reopen.wait(20)
        forks._the.reopen()

    threads = [
        threading.Thread(target=fork),
        threading.Thread(target=lambda: registry.grant(ask_of(LastSeen()), 1)),
    ]
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


def test_forks_do_not_wait_for_a_thread_that_waits_for_the_file(tmp_path):
    """Two threads fork while another waits for a file that another process keeps locked."""
    path = tmp_path / "claims.db"
    url = f"sqlite:{path}?busy=20s"
    connect(url, "default", frazil.scheme("icicle")).initialise(ask_of(LastSeen()), 0)
    held = RevisionFile(path, 1.0)
    registry = connect(url, "default", frazil.scheme("icicle"))
    waits = threading.Thread(target=lambda: registry.grant(ask_of(LastSeen()), 1))
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
            thread.join(4)  # a fork that waits for a step waits for a second or more each
        assert not any(thread.is_alive() for thread in forking)
        assert waits.is_alive()
    finally:
        held.close()
        waits.join()
