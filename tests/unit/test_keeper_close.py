"""A close that comes while the keeper is asking for something: what is left is given back."""

import pytest

import frazil
from frazil.claim import Lost, Seen
from frazil.errors import Closed
from frazil.keeper import Call
from tests.unit.test_keeper import call, supplied, world

__all__ = ["supplied", "world"]


def test_a_claim_that_came_after_the_close_is_given_back_whole(supplied):
    ids, keeper, answers = supplied
    used = ids.finish()
    call(ids, keeper, answers)
    assert isinstance(answers[0], Closed)
    keeper._grant(ids)  # as if the close had come while it was asked for
    assert keeper.claim is not None
    assert ids.poll().wait_ns == -2
    keeper._release(used)
    (holding,) = keeper.registry.holdings()
    assert not holding.held
    assert holding.until == holding.start


@pytest.mark.parametrize("waits", [True, False])
def test_a_close_while_a_renewal_is_asked_for_gives_back_what_is_left(
    supplied, world, monkeypatch, waits
):
    """Also where another caller is heard before the close is."""
    ids, keeper, answers = supplied
    call(ids, keeper, answers)
    ids.poll()
    world.advance(60)
    ids.poll()
    used = []
    renew = keeper.registry.renew

    def closed_meanwhile(ask, until):
        used.append(ids.finish())
        world.advance(50)
        return renew(ask, until)

    monkeypatch.setattr(keeper.registry, "renew", closed_meanwhile)
    keeper._tend(ids)
    (tick,) = used
    assert tick == keeper.claim.start + 61
    if waits:
        assert call(ids, keeper, answers) is not None
        assert isinstance(answers[-1], Closed)
    (holding,) = keeper.registry.holdings()
    assert holding.held
    assert holding.until == keeper.claim.until > tick
    keeper._depart(Call(answers.append), tick)
    (holding,) = keeper.registry.holdings()
    assert (holding.held, holding.until) == (False, tick)


def test_a_claim_that_was_lost_is_somebody_elses_and_not_given_back(supplied, monkeypatch):
    ids, keeper, answers = supplied
    call(ids, keeper, answers)
    monkeypatch.setattr(keeper.registry, "renew", lambda *_: Lost(Seen()))
    keeper._renew(ids)
    given_back = []
    monkeypatch.setattr(keeper.registry, "release", lambda *what: given_back.append(what))
    keeper._depart(Call(answers.append), ids.finish())
    assert given_back == []
    assert answers == [None, None]


def test_the_thread_ends_with_a_close(supplied):
    ids, keeper, answers = supplied
    call(ids, keeper, answers)
    assert keeper._round(Call(answers.append, ids.finish())) is None
    assert keeper._ended
    assert answers == [None, None]


def test_a_generator_that_was_never_used_has_nothing_to_give_back(monkeypatch):
    """So no thread is started for it."""
    ids = frazil.open("memory:unused")
    monkeypatch.setattr(ids.keeper, "_post", None)
    ids.close()
    assert ids.closed


@pytest.mark.skipif(frazil.COMPILED, reason="a compiled step cannot be interrupted")
def test_a_step_that_a_close_interrupted_may_use_all_that_is_left(supplied):
    """So nothing of it is given back, however often it is left."""
    ids, keeper, answers = supplied
    call(ids, keeper, answers)
    ids.poll()
    with ids._lock:  # as in a signal handler in the middle of a step
        assert ids.finish() == keeper.claim.until
    assert (ids.leave(), ids.finish()) == (keeper.claim.until, keeper.claim.until)
