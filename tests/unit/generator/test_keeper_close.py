"""A close that comes while the keeper is asking for something: what is left is given back."""

from types import SimpleNamespace

import pytest

import frazil
from frazil.claims.claim import LastSeen, Lost
from frazil.errors import Closed, RegistryUnavailable
from frazil.walk.walk import CLOSED
from tests.tools.verbs import drive
from tests.unit.generator.test_keeper import Told, raising, tend


def test_a_claim_granted_after_the_close_is_given_back_whole(supplied):
    ids, keeper, _ = supplied
    used = ids.finish()
    drive(keeper.policy._grant(ids, 100), keeper.registry)  # as if the close had come meanwhile
    assert keeper.policy.claim is not None
    assert ids.poll().wait_ns == -2
    drive(keeper.policy._release(used), keeper.registry)
    (holding,) = keeper.registry.holdings()
    assert not holding.held
    assert holding.until == holding.start


@pytest.mark.parametrize("waits", [True, False])
def test_a_close_during_a_renewal_gives_back_the_rest(busy, world, monkeypatch, waits):
    """Also where another caller is heard before the close is."""
    ids, keeper, answers = busy
    ids.poll()
    used = []
    renew = keeper.registry.renew

    def closed_meanwhile(ask, until):
        used.append(ids.finish())
        world.advance(50)
        return renew(ask, until)

    monkeypatch.setattr(keeper.registry, "renew", closed_meanwhile)
    tend(keeper, ids)
    (tick,) = used
    assert tick == keeper.policy.claim.start + 61
    (holding,) = keeper.registry.holdings()
    assert holding.held
    assert holding.until == keeper.policy.claim.until > tick
    if waits:
        keeper.call(Told(answers))
        assert drive(keeper.policy.round(), keeper.registry) is None
        assert isinstance(answers[-1], Closed)
    else:
        drive(keeper.policy._last_round(tick), keeper.registry)
    (holding,) = keeper.registry.holdings()
    assert (holding.held, holding.until) == (False, tick)


def test_a_lost_claim_is_not_given_back(begun, monkeypatch):
    ids, keeper, answers = begun
    monkeypatch.setattr(keeper.registry, "renew", lambda *_: Lost(LastSeen()))
    drive(keeper.policy._renew(ids), keeper.registry)
    given_back = []
    monkeypatch.setattr(keeper.registry, "release", lambda *what: given_back.append(what))
    drive(keeper.policy._last_round(ids.finish()), keeper.registry)
    assert given_back == []
    assert answers == [None]


def test_a_call_after_the_end_gets_an_error_at_once(supplied, monkeypatch):
    """So no thread is started for it."""
    ids, keeper, answers = supplied
    drive(keeper.policy._last_round(ids.finish()), keeper.registry)
    monkeypatch.setattr(keeper, "_wake_thread", None)
    keeper.call(Told(answers))
    (told,) = answers
    assert isinstance(told, Closed)


def test_a_closed_walk_is_not_renewed(begun, world):
    """Where the close comes between the keeper's look at the walk and what it does then."""
    ids, keeper, _ = begun
    claim = keeper.policy.claim
    ids.poll()
    world.advance(60)
    used = ids.finish()
    tend(keeper, ids)
    assert keeper.policy.claim is claim
    (holding,) = keeper.registry.holdings()
    assert (holding.held, holding.until) == (True, claim.until)
    drive(keeper.policy._last_round(used), keeper.registry)
    (holding,) = keeper.registry.holdings()
    assert (holding.held, holding.until) == (False, used)


def test_a_registry_that_is_down_does_not_delay_the_close(begun, monkeypatch):
    ids, keeper, answers = begun
    closed = []

    away = RegistryUnavailable("away", url="memory:", outcome_known=False)
    monkeypatch.setattr(keeper.registry, "release", raising(away))
    monkeypatch.setattr(keeper.registry, "close", lambda: closed.append(True))
    keeper.policy._called = True
    keeper.end(ids.finish(), Told(answers))
    assert answers == [None]  # of the first call: the one who closes waits
    assert drive(keeper.policy.round(), keeper.registry) is None
    assert (answers, closed, keeper.policy.ended) == ([None, None], [True], True)
    (holding,) = keeper.registry.holdings()
    assert holding.held


def test_an_idle_walk_of_another_life_is_not_given_back(busy, world):
    """A restore between the thread's look at its identity and this; the walk has a keeper."""
    ids, keeper, _ = busy
    tend(keeper, ids)  # busy: renewed
    claim = keeper.policy.claim
    world.advance(360)  # and idle
    keeper.policy.identity = SimpleNamespace(
        era=ids.identity.era + 1, intact=lambda: False, now_ns=ids.identity.now_ns
    )
    tend(keeper, ids)
    assert keeper.policy.claim is claim
    (holding,) = keeper.registry.holdings()
    assert (holding.held, holding.until) == (True, claim.until)
    assert isinstance(ids.poll(), int)


def test_a_generator_that_was_never_used_has_nothing_to_give_back(monkeypatch):
    """So no thread is started for it."""
    ids = frazil.open("memory:unused")
    monkeypatch.setattr(ids._walk.keeper, "_wake_thread", None)
    ids.close()
    assert ids._walk.closed


@pytest.mark.skipif(frazil.COMPILED, reason="a compiled step cannot be interrupted")
def test_a_step_that_a_close_interrupted_begins_again_and_finds_it(begun):
    ids, keeper, _ = begun
    ids.poll()
    given_back = []

    def interrupted(draft):
        if not ids.closed:  # as a signal handler in the middle of a step
            given_back.append(ids.finish())
        return draft.ready()

    assert ids._step(interrupted)[0] == CLOSED
    assert given_back == [ids.leave()] == [ids.finish()]
    assert given_back[0] < keeper.policy.claim.until
