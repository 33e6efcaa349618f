"""More members than node numbers: those that rest keep none from those that work."""

import pytest

from frazil.claims.claim import Lost
from frazil.generator.kept_walk import KeptWalk
from frazil.generator.request import make_request
from frazil.walk.walk import SPENT
from tests.tools.verbs import begin
from tests.unit.generator.test_keeper import WIDE, Answers, Told, call, tend
from tests.unit.generator.test_keeper import sense_of as identity_of

NUMBERS = 4  # of the layout
STEP_MS = 10
PAUSE_STEPS = 4
HORIZON_MS = 1000


class Member:
    """A generator whose keeper has no thread, with the time of its next round."""

    def __init__(self, world, url):
        request = make_request(url, WIDE, namespace="x")
        self.world, self.walk = world, KeptWalk(request)
        self.keeper = self.walk.keeper
        self.walk.leave()
        self.walk.identity = self.keeper.policy.identity = identity_of(world)
        self.walk.leave()
        self.keeper.thread._running.acquire(blocking=False)  # as if it ran, for all of them
        self.due_ns = None
        self.ids = []

    def tend(self):
        """Have the round that is due."""
        if self.due_ns is not None and self.due_ns <= self.world.ns:
            self._planned(tend(self.keeper, self.walk))

    def take(self):
        """Ask for an ID. Whether it came at once."""
        answer = self.walk.poll()
        if not isinstance(answer, int) and answer.wait_ns == SPENT:
            if not self.keeper.policy.calls:
                self.keeper.policy.calls.add(Told(Answers()))
            self.keeper.policy._callers_wait = True
            self._planned(tend(self.keeper, self.walk))
            answer = self.walk.poll()
        self.ids += [answer] if isinstance(answer, int) else []
        return isinstance(answer, int)

    def _planned(self, wait_s):
        self.due_ns = None if wait_s is None else self.world.ns + wait_s * 1e9


def pass_ms(world, members, busy, ms):
    """Let time pass. The busy ones ask one after the other, then all pause.

    Returns how many calls were answered at once, and for how many steps the others waited.
    """
    at_once = waited = 0
    asking, pause = 0, 0
    for _ in range(0, ms, STEP_MS):
        world.advance(STEP_MS)
        for each in members:
            each.tend()
        pause -= 1
        came = busy and pause < 0
        while came:
            came = busy[asking].take()
            at_once, waited = at_once + came, waited + (not came)
            asking += came
            if asking == len(busy):
                asking, pause, came = 0, PAUSE_STEPS, False
    return at_once, waited


@pytest.mark.parametrize("working", [1, 2, NUMBERS])
def test_who_works_gets_a_number_from_who_rests(world, request, working):
    url = f"memory:{request.node.name}"
    members = [Member(world, url) for _ in range(NUMBERS + working)]
    begin(members[0].walk.registry)
    rest, busy = members[:NUMBERS], members[NUMBERS:]
    pass_ms(world, members, rest, STEP_MS)
    assert all(each.ids for each in rest)
    pass_ms(world, members, (), 3 * HORIZON_MS)
    assert all(holding.held for holding in members[0].walk.registry.holdings())
    pass_ms(world, members, busy, 40 * HORIZON_MS)  # of 150 contests the longest took 11
    assert all(each.ids for each in busy)
    at_once, waited = pass_ms(world, members, busy, 20 * HORIZON_MS)
    assert waited == 0
    assert at_once == pytest.approx(working * 20 * HORIZON_MS / (STEP_MS * PAUSE_STEPS), rel=0.3)
    numbers = {each.keeper.policy.claim.slot for each in busy}
    assert len(numbers) == working
    issued = [number for each in members for number in each.ids]
    assert len(issued) == len(set(issued))


def test_a_claim_lost_in_use_is_followed_by_a_longer_one(busy, world, monkeypatch):
    """Two that work would else take one number from each other for ever, in short claims."""
    ids, keeper, answers = busy
    seen = keeper.policy._seen
    with monkeypatch.context() as lost:
        lost.setattr(keeper.registry, "renew", lambda *_: Lost(seen))
        tend(keeper, ids)
    world.advance(60)
    call(ids, keeper, answers)
    assert keeper.policy.claim.until - keeper.policy.claim.start == 400
