"""A signal that arrives while the compiled walk makes a step: its handler runs after the step."""

import gc
import signal
import time
from _thread import interrupt_main
from array import array
from functools import partial
from operator import call

import pytest

import frazil
from frazil.walk.walk import Walk

pytestmark = pytest.mark.skipif(
    not frazil.COMPILED, reason="interpreted, a handler runs between any two bytecodes"
)

LAYOUTS = {
    "plain": "sign:1=0 time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z",
    "in pieces": "sequence[5..3] time:42 sequence[2..0] node:4 @1ms since 1970-01-01T00:00:00Z",
    "wide": "zero:20=5 node:20 time:71 sequence:17 @1ms since 1970-01-01T00:00:00Z",
    "wide, sequence on top": "sequence:17 node:40 time:71 @1ms since 1970-01-01T00:00:00Z",
}
NUMBER = signal.SIGUSR1
STEPS = {
    "an ID": lambda ids: ids,
    "some IDs": lambda ids: partial(Walk.take_ready, ids._walk, 3),
    "a buffer": lambda ids: partial(Walk.fill, ids._walk, array("Q", bytes(96)), 0),
    "a poll": lambda ids: partial(Walk.poll, ids._walk),
}


@pytest.fixture(params=["random", 0])
def start(request):
    return request.param


@pytest.fixture
def handled():
    """What the handler does; it runs as many times as there are entries in ``left``."""
    todo, left = [], []

    def handler(*_):
        for do in todo:
            do()
        if left:
            left.pop()
            interrupt_main(NUMBER)

    before = signal.signal(NUMBER, handler)
    yield todo, left
    signal.signal(NUMBER, before)


def interrupted(step, ran):
    """The answer of a step that begins with a signal pending, and what the handler did inside it.

    ``map`` calls the three one after the other in C, so Python looks for signals only inside them.
    """
    _, answer, inside = map(call, (partial(interrupt_main, NUMBER), step, ran.copy))
    return answer, inside


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("step", STEPS.values(), ids=list(STEPS))
def test_no_handler_runs_inside_a_step(url, layout, step, start, handled):
    """Python's product of long integers runs handlers, so the step has none."""
    todo, left = handled
    with frazil.open(url, layout, sequence_start=start) as ids:
        ids.ready()
        ran: list[int] = []
        todo.append(lambda: ran.extend(ids.take(2)))
        for _ in range(20):
            left[:] = [None] * 3
            time.sleep(0.0012)  # a later tick
            waits = ids.status().waits
            gc.disable()  # a collection may run Python code, which looks for signals
            _, inside = interrupted(step(ids), ran)
            gc.enable()
            if ids.status().waits == waits:  # else its claim had ended, and the call waited
                assert inside == []
            until = time.monotonic() + 10
            while not ran and time.monotonic() < until:
                pass
            assert len(ran) == len(set(ran)) > 0
            ran.clear()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("allocations", [1, 2, 4])
def test_a_collection_inside_a_step(url, layout, allocations, handled):
    """The garbage collector runs Python code in the middle of a step, and with it the handler."""
    todo, left = handled
    gc.callbacks.append(lambda phase, info: None)
    threshold = gc.get_threshold()
    try:
        with frazil.open(url, layout) as ids:
            ran: list[int] = []
            todo.append(lambda: ran.extend(ids.take(2)))
            for _ in range(3):
                left[:] = [None] * 3
                gc.collect()
                gc.set_threshold(allocations)
                taken, _ = interrupted(partial(ids.take, 5000), ran)
                gc.set_threshold(*threshold)
                until = time.monotonic() + 10
                while not ran and time.monotonic() < until:
                    pass
                assert len(ran) > 0
                assert len(set(ran + taken)) == len(ran) + len(taken)
                ran.clear()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.pop()
