"""When the keeper looks again: at once, in a while, or when it is called."""

from types import SimpleNamespace

import pytest

import frazil
from frazil.errors import RegistryUnavailable

__all__: list[str] = []


@pytest.fixture
def keeper(url):
    with frazil.open(url) as ids:  # its thread begins with the first call, and there is none
        yield ids._walk.keeper


def reaching(ticks):
    return SimpleNamespace(reach=lambda: ticks, closed=False)


def test_somebody_who_waits_is_seen_to_at_once(keeper):
    keeper._needed = True
    assert keeper._next_look_s(reaching(0)) == 0.0


def test_after_a_rest(keeper):
    keeper._needed = True
    keeper._rest(10_000_000)
    assert keeper._next_look_s(reaching(0)) == pytest.approx(10, abs=1)


def test_nobody_looks_after_no_claim(keeper):
    assert keeper._next_look_s(reaching(0)) is None


def test_nobody_looks_after_a_spent_claim_that_is_somebody_else_s(keeper):
    keeper.claim, keeper._renewable = object(), False
    assert keeper._next_look_s(reaching(0)) is None
    keeper.claim = None


def test_a_claim_that_is_renewable_and_spent_is_ahead_of_the_clock(keeper):
    keeper._put_off = keeper._renewable = True
    assert "is ahead of the clock" in str(keeper.complaint(1.0))
    keeper._renewable = False
    assert "node numbers are in use" in str(keeper.complaint(1.0))


@pytest.mark.parametrize(("reach", "look_s"), [(49, 0.001), (50, 0.012)])
def test_in_trouble_what_is_due_is_tried_each_millisecond_after_its_rest(keeper, reach, look_s):
    keeper.claim, keeper._renewable, keeper._want = object(), True, 100
    keeper.trouble = RegistryUnavailable("away", url="memory:", outcome_known=True)
    assert keeper._next_look_s(reaching(reach)) == pytest.approx(look_s)
    keeper.claim, keeper._renewable = None, False
