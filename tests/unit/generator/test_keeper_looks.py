"""When the keeper looks again: at once, in a while, or when it is called."""

from types import SimpleNamespace

import pytest

import frazil
from frazil.claims.claim import LastSeen, Lost, Wait
from frazil.errors import RegistryUnavailable
from tests.unit.generator.test_keeper import call, raising, tend


@pytest.fixture
def keeper(url):
    with frazil.open(
        url, keep=0
    ) as ids:  # its thread begins with the first call, and there is none
        yield ids._walk.keeper


def reaching(ticks, due=0):
    return SimpleNamespace(reach=lambda: ticks, due_now=lambda: due, closed=False)


def test_a_lost_claim_is_reported_until_a_wait_after_its_end(keeper):
    policy = keeper.policy
    policy.claim, policy._renewable = SimpleNamespace(until=1000), False
    policy._answered_ns = policy.identity.now_ns()
    half_s = policy.terms.horizon_ticks * policy.terms.tick_us / 2e6
    end = 1000 + policy.terms.wait_ticks
    assert policy._next_round_s(reaching(0, end - 1)) == pytest.approx(half_s, abs=0.1)
    assert not policy._needs_renewal(reaching(0))
    policy._answered_ns -= int(half_s * 1e9)
    assert policy._needs_renewal(reaching(0))
    assert policy._next_round_s(reaching(0, end - 1)) == pytest.approx(0.001)
    policy._refused = True
    assert policy._next_round_s(reaching(0, end - 1)) == 1.0
    assert policy._next_round_s(reaching(0, end)) is None
    policy.claim = None


def test_a_member_that_is_told_to_wait_asks_again_in_half_a_horizon(supplied, world, monkeypatch):
    ids, keeper, answers = supplied
    seen = LastSeen("x", 1, 1)
    monkeypatch.setattr(ids.registry, "grant", lambda ask, want: Wait(60_000_000, seen))
    half_s = keeper.policy.terms.horizon_ticks * keeper.policy.terms.tick_us / 2e6
    assert call(ids, keeper, answers) == pytest.approx(half_s, rel=0.01)


def test_a_claim_that_is_renewable_and_spent_is_ahead_of_the_clock(keeper):
    keeper.policy.wait_cause = "used"
    told = str(keeper.policy.complaint(1.0))
    assert "has used all IDs of its claim up to now and lead=" in told
    assert "no claim" not in told
    keeper.policy.wait_cause = "full"
    assert "node numbers are in use" in str(keeper.policy.complaint(1.0))


@pytest.mark.parametrize(("reach", "look_s"), [(49, 0.001), (50, 0.012)])
def test_after_a_failure_a_due_renewal_is_tried_each_millisecond_after_the_pause(
    keeper, reach, look_s
):
    keeper.policy.claim, keeper.policy._renewable, keeper.policy._want = object(), True, 100
    keeper.policy.trouble = RegistryUnavailable("away", url="memory:", outcome_known=True)
    assert keeper.policy._next_round_s(reaching(reach)) == pytest.approx(look_s)
    keeper.policy.claim, keeper.policy._renewable = None, False


def test_a_namespace_of_which_a_claim_was_begun_is_not_new(busy, world, monkeypatch):
    """Also where the registry has lost it since."""
    ids, keeper, answers = busy
    tend(keeper, ids)
    monkeypatch.setattr(keeper.registry, "renew", lambda *_: Lost(LastSeen()))
    monkeypatch.setattr(keeper.registry, "grant", lambda *_: Wait(1, LastSeen()))
    monkeypatch.setattr(keeper.registry, "look", lambda: None)
    world.advance(10_000)
    call(ids, keeper, answers)
    assert "nothing was ever granted" not in str(keeper.policy.complaint(1.0))


def test_a_wait_whose_reason_the_store_no_longer_tells_is_not_reported(supplied, monkeypatch):
    ids, keeper, answers = supplied
    away = raising(RegistryUnavailable("away", url="memory:", outcome_known=True))
    monkeypatch.setattr(ids.registry, "grant", lambda *_: Wait(1, LastSeen(), guarded=True))
    monkeypatch.setattr(ids.registry, "look", away)
    call(ids, keeper, answers)
    assert keeper.policy.wait_cause == ""


@pytest.mark.parametrize("lost", [False, True])
def test_a_doubt_is_a_renewal_at_once(begun, world, monkeypatch, lost):
    """Although much is left; a claim that has a new owner is followed by another one."""
    ids, keeper, _ = begun
    before = keeper.policy.claim
    if lost:
        monkeypatch.setattr(keeper.registry, "renew", lambda ask, _: Lost(ask.seen))
    assert keeper.doubt()
    assert keeper.doubted
    tend(keeper, ids)
    assert not keeper.doubted
    assert keeper.policy.claim.until > before.until
    assert (keeper.policy.claim.token == before.token) is not lost
    assert not keeper.doubt()  # not twice in a second
    world.advance(1001)
    assert keeper.doubt()


def test_no_doubt_of_a_registry_that_does_not_answer(supplied):
    ids, keeper, answers = supplied
    assert not keeper.doubt()  # nor without a claim
    call(ids, keeper, answers)
    keeper.policy.trouble = RegistryUnavailable("away")
    assert not keeper.doubt()
    assert not keeper.doubted
