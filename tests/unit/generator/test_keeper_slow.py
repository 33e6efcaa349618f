"""Claims where a registry answers slowly, or the machine is slow to hear it."""

import pytest

from frazil.claims.claim import LastSeen, Lost, Wait
from frazil.errors import RegistryUnavailable
from tests.tools.verbs import drive
from tests.unit.generator.test_keeper import Told, call, raising, tend


def slow(monkeypatch, keeper, world, verb, answer_ms):
    """Let each answer to a verb come so much after it was given."""
    at_once = getattr(keeper.registry, verb)

    def late(*asked):
        reply = at_once(*asked)
        world.advance(answer_ms)
        return reply

    monkeypatch.setattr(keeper.registry, verb, late)


@pytest.mark.parametrize(("answer_ms", "want"), [(20, 400), (150, 600), (900, 1000)])
def test_a_slow_answer_makes_the_next_claim_longer(supplied, world, monkeypatch, answer_ms, want):
    ids, keeper, answers = supplied
    slow(monkeypatch, keeper, world, "grant", answer_ms)
    call(ids, keeper, answers)
    ids.poll()
    world.advance(60)
    tend(keeper, ids)
    assert keeper.policy._want == want


def test_the_first_claim_after_an_idle_time_is_as_long_as_answers_are_slow(
    supplied, world, monkeypatch
):
    ids, keeper, answers = supplied
    slow(monkeypatch, keeper, world, "release", 70)
    call(ids, keeper, answers)
    drive(keeper.policy._release(ids.leave(ids.identity.era)), keeper.registry)
    call(ids, keeper, answers)
    assert ids.reach() == 280


def test_a_claim_after_a_wait_has_all_its_ticks(supplied, world, monkeypatch):
    """The registry read its clock when the wait was over."""
    ids, keeper, answers = supplied
    at_once = keeper.registry.grant

    def late(*asked):
        world.advance(900)
        reply = at_once(*asked)
        keeper.registry.read_ns = ids.identity.now_ns()
        return reply

    monkeypatch.setattr(keeper.registry, "grant", late)
    call(ids, keeper, answers)
    assert ids.left() == 100


def test_a_claim_is_renewed_from_when_the_answer_will_come_on(supplied, world, monkeypatch):
    ids, keeper, answers = supplied
    slow(monkeypatch, keeper, world, "grant", 600)
    call(ids, keeper, answers)
    now = max(ids.until - ids.left(), ids.due_now())
    asked = []

    def renew(ask, until):
        asked.append(until)
        return Lost(ask.seen)

    monkeypatch.setattr(keeper.registry, "renew", renew)
    drive(keeper.policy._renew(ids), keeper.registry)
    assert asked == [now + 600 + keeper.policy.terms.horizon_ticks]


@pytest.mark.parametrize(("late_ms", "want"), [(20, 100), (80, 320), (900, 1000)])
def test_a_caller_that_waited_for_the_keeper_gets_a_longer_claim(supplied, world, late_ms, want):
    """A thread with too much to do would come too late to renew a short one."""
    ids, keeper, answers = supplied
    keeper.policy.call(Told(answers))
    world.advance(late_ms)
    keeper.policy.call(Told(answers))
    tend(keeper, ids)
    assert keeper.policy.claim.until - keeper.policy.claim.start == want
    assert answers == [None, None]


@pytest.mark.parametrize("away", [False, True], ids=["full", "away"])
def test_who_waited_for_a_number_or_a_store_gets_no_longer_claim(
    supplied, world, monkeypatch, away
):
    """Where numbers are scarce, each would keep its own for longer, and the next wait longer.

    When a store answers again all ask at once, and where numbers are scarce they wait for these.
    """
    ids, keeper, answers = supplied
    keeper.policy.call(Told(answers))
    grant = raising(RegistryUnavailable("away")) if away else lambda *_: Wait(500_000, LastSeen())
    with monkeypatch.context() as nothing:
        nothing.setattr(keeper.registry, "grant", grant)
        tend(keeper, ids)
    world.advance(600)
    tend(keeper, ids)
    assert keeper.policy.claim.until - keeper.policy.claim.start == 100


def test_a_claim_that_ended_while_its_renewal_was_under_way(supplied, world, monkeypatch):
    """Its new owner came after its end, so node numbers are not scarce: the next is kept warm."""
    ids, keeper, answers = supplied
    keeper.policy._keep_ns = 10**12
    call(ids, keeper, answers)
    ids.poll()
    world.advance(60)
    tend(keeper, ids)
    world.advance(60)
    assert keeper.policy.claim.until > ids.due_now()

    def renew(ask, until):
        return Lost(ask.seen._replace(now_us=keeper.policy.terms.us_at(keeper.policy.claim.until)))

    monkeypatch.setattr(keeper.registry, "renew", renew)
    drive(keeper.policy._renew(ids, idle=True), keeper.registry)
    assert keeper.policy._keeps_warm()
