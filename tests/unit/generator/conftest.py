"""A generator whose keeper has no thread, on a clock that the test sets."""

import pytest

from frazil.generator.kept_walk import KeptWalk
from frazil.generator.request import make_request
from tests.tools.verbs import begin
from tests.unit.generator.test_keeper import WIDE, Answers, Clock, call, sense_of


@pytest.fixture
def world(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def supplied(world, request):
    """(generator, keeper, answers): a generator whose keeper has no thread."""
    ids = KeptWalk(make_request(f"memory:{request.node.name}", WIDE, namespace="x", keep=0))
    ids.leave()
    ids.identity = ids.keeper.policy.identity = sense_of(world)
    ids.leave()
    ids.keeper.policy.jitter = lambda: 1.0  # that of two members differs
    begin(ids.registry)
    ids.keeper.thread._running.acquire()  # as if the thread ran
    return ids, ids.keeper, Answers()


@pytest.fixture
def begun(supplied):
    """The same with a first claim, of 100 ms."""
    call(*supplied)
    return supplied


@pytest.fixture
def busy(begun, world):
    """The same after an ID and 60 ms, so that a renewal is due."""
    begun[0].poll()
    world.advance(60)
    return begun
