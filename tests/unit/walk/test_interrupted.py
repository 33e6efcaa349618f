"""Signal handlers inside the steps of the interpreted walk: they raise, or ask for IDs.

A handler is called before each instruction in turn, without a signal. Compiled, no handler runs
inside a step (tests/unit/generator/test_signals_inside.py).
"""

from functools import partial

import pytest

import frazil
from frazil.generator.request import walk_arguments
from tests.tools.strikes import Struck, every, raise_struck, strike
from tests.unit.walk.test_walk import MS, interpreted, manual_identity

FILES = ("walk/walk", "walk/atomic")
NS = 10**15  # the boot clock stands still
KINDS = {
    "time": (13, range(5, 13), range(2, 5), range(2), 0, MS, 2 * MS, None),
    "random start": (13, range(5, 13), range(2, 5), range(2), 0, MS, 2 * MS, 12345),
    "run": (13, range(5, 13), range(2, 5), range(2), 0, 0, 0, None),
    "counter": walk_arguments(frazil.scheme("node:3 sequence:10"), 0, None),
}
STEPS = {
    "adopt": lambda walk: walk.adopt(2, 20, 30, 10, 0, NS),
    "prolong": lambda walk: walk.prolong(40, 11, 0, NS),
    "queue": lambda walk: walk.queue(2, 40, 50),
    "advance": lambda walk: walk.advance(12, 1, 1),
    "leave": lambda walk: walk.leave(),
    "finish": lambda walk: walk.finish(),
    "restart": lambda walk: walk.restart(named("second")),
}
OF_TIME, OF_COUNTERS = ("advance",), ("queue",)
CASES = [
    pytest.param(kind, step, id=f"{kind}-{step}")
    for kind in KINDS
    for step in STEPS
    if step not in (OF_TIME if kind in ("run", "counter") else OF_COUNTERS)
]
atomic = pytest.mark.skipif(frazil.COMPILED, reason="no handler runs inside a compiled step")


def named(name):
    """An identity on a clock that stands still; the first one is of another process by now."""
    identity = manual_identity(interpreted())
    identity.name, identity.intact = name, lambda: True
    return identity


def atomic_walk():
    from frazil.walk.atomic import AtomicWalk

    return AtomicWalk


def begun(walk_type, kind, step):
    """A walk in the middle of a claim, and what it has given."""
    walk = walk_type(named("first"), *KINDS[kind])
    walk.adopt(1, 10, 30, 10, 0, NS)
    found = walk.take_ready(6)
    if step == "restart":
        walk.identity.intact = lambda: False
    return walk, found


def state(walk):
    """What a step may change."""
    names = "tick cell node start until next_node next_start next_until anchor_tick placed low"
    names += " wanting queued closed held fresh"
    return [walk.identity.name, *(getattr(walk, name) for name in names.split())]


def torn(walk_type, kind, step):
    """After how many of the instructions an exception leaves a walk that is half changed."""
    whole, _ = begun(walk_type, kind, step)
    before = state(whole)
    STEPS[step](whole)
    found = 0
    for number in every():
        walk, _ = begun(walk_type, kind, step)
        try:
            came = strike(number, FILES, raise_struck, lambda walk=walk: STEPS[step](walk))
        except Struck:
            came = True
        found += state(walk) not in (before, state(whole))
        if not came:
            assert number > 5
            return found


@atomic
@pytest.mark.parametrize(("kind", "step"), CASES)
def test_a_step_that_an_exception_ends_is_done_or_not_done(kind, step):
    assert torn(atomic_walk(), kind, step) == 0


@pytest.mark.parametrize("step", ["adopt", "prolong"])
def test_a_bare_walk_is_half_changed(step):
    assert torn(interpreted().Walk, "time", step) > 0


@atomic
@pytest.mark.parametrize("handle", ["raises", "asks"])
@pytest.mark.parametrize(("kind", "step"), [*CASES, *((kind, "take") for kind in KINDS)])
def test_what_is_drawn_meanwhile_is_drawn_once(kind, step, handle):
    """And what a walk gives back, when it is left, is drawn neither before nor after."""
    for number in every():
        walk, found = begun(atomic_walk(), kind, step)

        def take(walk=walk, found=found):
            found += walk.take_ready(2)

        work = partial(STEPS[step], walk) if step in STEPS else take
        try:
            came = strike(number, FILES, take if handle == "asks" else raise_struck, work)
        except Struck:
            came = True
        take()
        assert len(set(found)) == len(found), number
        if step == "leave":
            used = walk.leave()
            take()
            assert max(n & 1023 if kind == "counter" else n >> 5 for n in found) < used
        if not came:
            break
