"""The keeper, driven step by step: no thread, a clock that the test sets."""

import pytest

import frazil
from frazil.claims.claim import LastSeen, Wait
from frazil.errors import InternalError, PoolExhausted, RegistryUnavailable
from frazil.generator.calls import Call
from frazil.system import clock
from frazil.system.process import ProcessIdentity
from frazil.walk.walk import Pause
from tests.tools.verbs import drive

MS = 1_000_000
WIDE = "sign:1=0 time:39 node:2 sequence:22 @1ms since 2025-01-01T00:00:00Z"


class Clock:
    """Wall and boot clock of the world, in one hand."""

    def __init__(self, monkeypatch):
        self.us = 1_800_000_000_000_000
        self.ns = 10**15
        monkeypatch.setattr(clock, "wall_us", lambda: self.us)

    def advance(self, ms):
        self.us += ms * 1000
        self.ns += ms * MS


def sense_of(world):
    """An identity on the world's clock, for the walk in use."""

    class Sensed(ProcessIdentity):
        def now_ns(self):
            return world.ns

    return Sensed()


def raising(error):
    """A verb of a registry that raises it."""

    def verb(*_):
        raise error

    return verb


class Answers(list):
    """What callers were told, and their calls."""

    def __init__(self):
        self.calls = []


class Told(Call):
    def __init__(self, answers):
        self.answers = answers
        answers.calls.append(self)

    def wake(self, error):
        self.answers.append(error)


def tend(keeper, ids):
    """A round of a walk in use."""
    return drive(keeper.policy._regular_round(ids), keeper.registry)


def call(ids, keeper, answers):
    keeper.policy.calls.add(Told(answers))
    keeper.policy._callers_wait = True
    return tend(keeper, ids)


def test_a_call_brings_a_claim_of_a_tenth_of_a_second(supplied):
    ids, keeper, answers = supplied
    look_s = call(ids, keeper, answers)
    assert answers == [None]
    assert keeper.policy.claim.until - keeper.policy.claim.start == 100
    assert look_s == pytest.approx(0.05)
    assert isinstance(ids.poll(), int)


def busy_rounds(supplied, world, count):
    """What can be reached after each round of a busy walk, and when the next one is due."""
    ids, keeper, answers = supplied
    look_s, found = call(ids, keeper, answers), []
    for _ in range(count):
        ids.poll()
        world.advance(round(look_s * 1000) + 1)
        look_s = tend(keeper, ids)
        found.append((ids.reach(), look_s))
    return found


def test_a_busy_walk_is_renewed_at_half_and_wants_more(supplied, world):
    rounds = busy_rounds(supplied, world, 8)
    assert [reach for reach, _ in rounds[:3]] == [400, 1000, 1000]
    assert rounds[-1] == (1000, pytest.approx(0.5))  # the horizon


@pytest.mark.parametrize(("part", "reached"), [(0.5, 200), (0.75, 300)])
def test_how_much_more_is_random(supplied, world, part, reached):
    supplied[1].policy.jitter = lambda: part
    assert busy_rounds(supplied, world, 1)[0][0] == reached


@pytest.mark.parametrize(("part", "n", "reached"), [(0.5, 3, 399), (0.75, 2, 724), (1.0, 1, 1000)])
def test_the_first_claim_of_a_horizon_is_a_random_part_of_it(supplied, world, part, n, reached):
    """So members that started together do not renew together ever after."""
    supplied[1].policy.jitter = lambda: part
    rounds = busy_rounds(supplied, world, 7)
    assert rounds[n] == (reached, pytest.approx(reached / 2000, abs=0.001))
    assert rounds[-1] == (1000, pytest.approx(0.5))


def test_the_random_part_is_no_less_than_what_is_left(begun, world):
    ids, keeper, _ = begun
    drive(keeper.policy._renew(ids, idle=True), keeper.registry)
    keeper.policy._spread, keeper.policy.jitter = False, lambda: 0.5
    world.advance(100)
    ids.poll()
    drive(keeper.policy._renew(ids), keeper.registry)
    assert (ids.reach(), keeper.policy._renewable) == (900, True)


def test_an_idle_walk_is_released(supplied, world):
    ids, keeper, answers = supplied
    look_s = call(ids, keeper, answers)
    ids.poll()
    world.advance(60)
    tend(keeper, ids)  # busy: renewed
    world.advance(360)
    assert tend(keeper, ids) is None
    assert keeper.policy.claim is None
    assert not any(h.held for h in keeper.registry.holdings())
    assert look_s


def test_a_lost_claim_is_used_to_its_end_and_then_there_is_another(begun, world):
    ids, keeper, answers = begun
    first = keeper.policy.claim
    ids.poll()
    with keeper.registry.step() as (record, _):
        record.slots.void_tokens()
    world.advance(60)
    tend(keeper, ids)
    assert isinstance(ids.poll(), int)
    assert ids.until == first.until
    world.advance(60)
    assert ids.poll().wait_ns < 0
    call(ids, keeper, answers)
    assert keeper.policy.claim.token != first.token
    assert isinstance(ids.poll(), int)


def test_a_caller_is_served_while_the_store_absorbs_a_step_back(begun, world):
    ids, keeper, answers = begun
    ids.poll()
    world.us -= 3_600_000_000
    numbers, pauses = [], 0
    for _ in range(30_000):  # five minutes, in which the store's clock loses 37 s
        world.advance(10)
        if world.ns % (100 * MS) == 0:
            tend(keeper, ids)
        answer = ids.poll()
        if isinstance(answer, Pause):
            pauses += 1
            call(ids, keeper, answers)
        else:
            numbers.append(answer)
    assert numbers == sorted(set(numbers))
    assert pauses < 30
    assert set(answers) == {None}


class TestTrouble:
    @pytest.fixture
    def failing(self, supplied, monkeypatch):
        ids, keeper, answers = supplied
        errors = []
        for name in ("grant", "renew", "release"):
            original = getattr(keeper.registry, name)
            monkeypatch.setattr(
                keeper.registry,
                name,
                lambda *a, original=original: (raising(errors[0]) if errors else original)(*a),
            )
        return ids, keeper, answers, errors

    def test_retries_back_off_and_callers_wait(self, failing, world):
        ids, keeper, answers, errors = failing
        errors.append(RegistryUnavailable("away", outcome_known=True))
        since = clock.moment_text(world.us)
        rests = [call(ids, keeper, answers)]
        for _ in range(8):
            world.advance(round(rests[-1] * 1000) + 1)
            rests.append(tend(keeper, ids))
        assert answers == []
        assert rests[0] <= 0.05
        assert 0.06 <= rests[-1] <= 0.125  # an eighth of the horizon
        assert keeper.policy.trouble is errors[0]
        assert keeper.policy.failures == len(rests)
        assert clock.moment_text(keeper.policy.trouble_since_us) == since
        assert f"no claim since {since}: away" in str(keeper.policy.complaint(1.0))
        errors.clear()
        world.advance(2001)
        tend(keeper, ids)
        assert answers == [None]
        assert keeper.policy.trouble is None

    @pytest.mark.parametrize("part", [0.5, 0.75])
    def test_members_rest_for_different_parts_of_a_pause(self, failing, world, part):
        """Else all that wait would ask a store that is back at one moment."""
        ids, keeper, answers, errors = failing
        keeper.policy.jitter = lambda: part
        errors.append(RegistryUnavailable("away", outcome_known=True))
        for most_s in (0.05, 0.1):
            assert call(ids, keeper, answers) == pytest.approx(most_s * part)
            world.advance(round(most_s * 1000))

    def test_a_call_while_resting_does_not_ask(self, failing):
        ids, keeper, answers, errors = failing
        errors.append(RegistryUnavailable("away", outcome_known=True))
        call(ids, keeper, answers)
        errors.clear()
        assert 0.02 < call(ids, keeper, answers) <= 0.05
        assert answers == []

    def test_other_errors_reach_the_callers_at_once(self, failing):
        ids, keeper, answers, errors = failing
        errors.append(frazil.errors.ClockError("two o'clocks"))
        assert call(ids, keeper, answers) is None
        assert answers == errors

    def test_a_store_that_refuses_is_not_asked_each_millisecond(self, failing, world):
        ids, keeper, answers, errors = failing
        call(ids, keeper, answers)
        ids.poll()
        world.advance(60)
        errors.append(RegistryUnavailable("away", outcome_known=False))
        tend(keeper, ids)
        errors[0] = frazil.errors.ClockError("two o'clocks")
        world.advance(10)
        ids.poll()
        keeper.policy._back_off_until_ns = 0
        assert tend(keeper, ids) == pytest.approx(1.0)  # it has answered, and would answer the same
        assert keeper.policy.trouble is None

    def test_a_busy_walk_keeps_its_claim_though_its_tick_stands_still(self, failing, world):
        """Rounds follow each other within a tick while the store is away."""
        ids, keeper, answers, errors = failing
        call(ids, keeper, answers)
        world.advance(60)
        errors.append(RegistryUnavailable("away", outcome_known=False))
        for _ in range(3):
            ids.poll()
            tend(keeper, ids)
            keeper.policy._back_off_until_ns = 0
        assert keeper.policy.claim is not None
        assert isinstance(ids.poll(), int)

    def test_a_bug_is_an_internal_error(self, failing):
        ids, keeper, answers, errors = failing
        errors.append(ZeroDivisionError("oops"))
        call(ids, keeper, answers)
        assert isinstance(answers[0], InternalError)

    def test_trouble_at_the_release_of_an_idle_claim_ends(self, failing, world):
        ids, keeper, answers, errors = failing
        call(ids, keeper, answers)
        errors.append(RegistryUnavailable("away", outcome_known=False))
        ids.poll()
        world.advance(110)
        tend(keeper, ids)
        world.advance(3000)
        tend(keeper, ids)
        world.advance(3000)
        assert tend(keeper, ids) is None
        assert keeper.policy.claim is None


def test_after_a_failure_the_next_round_is_at_the_usual_time(busy, world, monkeypatch):
    ids, keeper, _ = busy
    away = RegistryUnavailable("away", url="memory:", outcome_known=False)
    monkeypatch.setattr(keeper.registry, "renew", raising(away))
    assert tend(keeper, ids) <= 0.05
    assert keeper.policy.trouble is not None
    world.advance(50)
    claim = keeper.policy.claim
    ids.prolong(claim.until, claim.start, 0, world.ns)  # the clock is found to be at its start
    assert tend(keeper, ids) == pytest.approx(0.05)


def test_a_claim_at_the_horizon_is_renewed_later(begun, world, monkeypatch):
    ids, keeper, answers = begun
    ids.poll()
    longest = keeper.policy.claim.until
    renew = keeper.registry.renew
    monkeypatch.setattr(keeper.registry, "renew", lambda ask, _: renew(ask, longest))
    monkeypatch.setattr(keeper.policy, "jitter", lambda: 0.75)
    world.advance(150)
    ids.poll()
    answers.clear()
    # An eighth of what is wanted, or less, so that it is not always at the same moment of a tick.
    assert call(ids, keeper, answers) == pytest.approx(0.75 * 0.0375)
    assert tend(keeper, ids) == pytest.approx(0.75 * 0.0375)  # and no sooner
    assert not answers
    monkeypatch.setattr(keeper.registry, "renew", renew)
    world.advance(60)
    assert tend(keeper, ids) > 0.05
    assert (answers, keeper.policy.wait_cause) == ([None], None)


def test_the_thread_ends_when_its_walk_is_gone(supplied):
    _, keeper, answers = supplied
    keeper.policy.walk = lambda: None
    assert drive(keeper.policy.round(), keeper.registry) is None
    assert keeper.policy.ended
    keeper.finish()
    assert answers == []


def test_counters_complain_of_blocks():
    frazil.init("memory:complaint", "tickets", new=True)
    with frazil.open("memory:complaint", "tickets") as ids:
        silent = ids._walk.keeper.policy.complaint(1.5)
        ids()
        busy = ids._walk.keeper.policy.complaint(1.5)
    assert isinstance(silent, RegistryUnavailable)
    assert "check that the server runs" in str(silent)
    assert isinstance(busy, PoolExhausted)
    assert all("no block from memory:complaint within 1.5 s" in str(e) for e in (silent, busy))


@pytest.mark.parametrize("part", [0.5, 0.75, 1.0])
def test_a_wait_of_nothing_is_a_millisecond_and_some_of_a_tick(supplied, monkeypatch, part):
    ids, keeper, answers = supplied
    monkeypatch.setattr(keeper.policy, "jitter", lambda: part)
    monkeypatch.setattr(keeper.registry, "grant", lambda *_: Wait(0, LastSeen()))
    assert call(ids, keeper, answers) == (1 + 1 - part) / 1000
    assert answers == []
