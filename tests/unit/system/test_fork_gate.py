"""The gate between forks, steps and imports, in C and in Python."""

import os
import threading
import time

import pytest

from frazil.system import fork_gate
from tests.tools.forks import child
from tests.tools.python import run_python

GATES = {"python": fork_gate._PureGate}
if not isinstance(fork_gate._the, fork_gate._PureGate):
    GATES["c"] = lambda: fork_gate._the


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

    def enters():
        gate.reopen()
        entered = gate.enter()
        gate.leave()
        return entered

    assert child(enters) == 0
    assert enters()


def test_a_thread_inside_may_enter_again_while_another_forks(gate):
    assert gate.enter()
    forking = threading.Thread(target=lambda: (gate.shut(), gate.reopen()))
    forking.start()
    assert gate.enter()
    gate.leave()
    gate.leave()
    forking.join()


@pytest.mark.parametrize("importing", [False, True])
def test_a_fork_waits_for_those_inside(gate, importing):
    inside, out, order = threading.Event(), threading.Event(), []

    def goes_on():
        inside.set()
        out.wait(10)
        order.append("out")

    def step():
        gate.enter()
        goes_on()
        gate.leave()

    def imports():
        with gate.importing():
            goes_on()

    thread = threading.Thread(target=imports if importing else step)
    thread.start()
    inside.wait(10)
    # For an import it waits longer than for a step.
    threading.Timer(1.5 if importing else 0.05, out.set).start()
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
    assert child(lambda: gate.enter() and gate.cut()) == 0
    out.set()
    thread.join()
    assert not gate.cut()


def test_a_child_from_inside_is_not_cut(gate):
    """A handler that forks in the middle of its own thread's step."""
    gate.enter()
    assert child(lambda: gate.leave() or not gate.cut()) == 0
    gate.leave()


def test_a_thread_that_waits_lets_others_enter(gate):
    """A hook asks for an ID, and the thread of the store has to enter."""
    gate.shut()
    with gate.waiting():
        entered = elsewhere(lambda: (gate.enter(), gate.leave()))
    refused = elsewhere(lambda: (gate.enter(), gate.leave()))
    gate.reopen()
    assert (entered[0], refused[0]) == (True, False)
    assert elsewhere(lambda: (gate.enter(), gate.leave()))[0] is True


def test_a_fork_that_does_not_come_holds_up_no_step(gate):
    """A hook waits for a lock, and the thread that has it waits for this step."""
    gate.shut()
    begun = time.monotonic()

    def enters():
        while not (entered := gate.enter()) and time.monotonic() < begun + 10:
            gate.leave()
            time.sleep(0.01)
        gate.leave()
        return entered, time.monotonic() - begun

    entered, waited = elsewhere(enters)
    gate.reopen()
    assert entered
    assert fork_gate._FRESH_S <= waited < 5


def test_a_wait_outside_a_fork_changes_nothing(gate):
    with gate.waiting():
        assert elsewhere(lambda: (gate.enter(), gate.leave()))[0] is True
    assert elsewhere(lambda: (gate.enter(), gate.leave()))[0] is True


def test_a_fork_inside_a_wait_of_a_hook(gate):
    """A signal handler forks; in both processes the hook goes on, and its fork is still to come."""
    gate.shut()
    with gate.waiting():
        process = os.fork()
    refused = elsewhere(lambda: (gate.enter(), gate.leave()))
    gate.reopen()
    entered = elsewhere(lambda: (gate.enter(), gate.leave()))
    right = (refused[0], entered[0]) == (False, True)
    if process == 0:
        os._exit(0 if right else 1)
    assert right
    assert os.waitpid(process, 0)[1] == 0


def test_an_import_waits_for_a_fork_but_not_long(gate):
    gate.shut()
    begun = time.monotonic()

    def imports():
        with gate.importing():
            return time.monotonic() - begun

    waited = elsewhere(imports)
    gate.reopen()
    assert 0.9 * fork_gate.PATIENCE_S < waited < 10


THREADS_START = """
import os, threading, time
from _thread import start_new_thread
from frazil.system import fork_gate

inside = threading.Event()

def step():
    fork_gate.enter()
    inside.set()
    time.sleep(4)
    fork_gate.leave()

def starts():
    while True:
        start_new_thread(time.sleep, (0.001,))
        time.sleep(0.001)

for work in (step, starts):
    threading.Thread(target=work, daemon=True).start()
inside.wait()
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
os._exit(0)
"""


def test_threads_start_while_a_fork_waits_in_vain():
    """Python 3.13 has a lock then that each new thread needs, and the interpreter with it."""
    run_python(THREADS_START)


STRUCK = """
import os, signal, threading, time
from importlib import import_module

class Struck(Exception):
    pass

def handler(*_):
    raise Struck

signal.signal(signal.SIGALRM, handler)
from frazil.system import fork_gate

for _ in range(20):
    inside = threading.Event()

    def step():
        with fork_gate.importing():
            inside.set()
            time.sleep(0.1)

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait()
    child = None
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        child = os.fork()
        for _ in range(100):
            time.sleep(0.01)
    except Struck:
        print("raised", flush=True)
    if child == 0:
        os._exit(0)
    thread.join()
"""


def test_an_exception_of_a_handler_comes_after_the_fork():
    """Python drops one that is raised inside a hook. The gate in C runs no handler."""
    if "c" not in GATES:
        pytest.skip("the gate in C was not built")
    done = run_python(STRUCK, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert (done.stdout.split(), done.stderr) == (["raised"] * 20, "")
