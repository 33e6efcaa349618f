"""What members agree on, and what they tell each other."""

from dataclasses import replace

import pytest

from frazil.claim import Claim, Seen, Terms

__all__: list[str] = []

TERMS = Terms("d41d8cd9", "time:41 node:4 sequence:18 @1ms", range(16), 16, 1 << 41, 1000, 0, 5000)


def test_a_tick_of_a_microsecond_is_time():
    assert replace(TERMS, tick_us=1).timed
    assert not replace(TERMS, tick_us=0).timed


def test_the_fingerprint_is_that_of_earlier_versions():
    """Stores keep it: another one would be refused as a foreign layout."""
    assert TERMS.fingerprint == "e3f6f38103da979a"


@pytest.mark.parametrize(
    "other", [{"identity": "d41d8cd8"}, {"tick_us": 999}, {"epoch_us": 1}, {"horizon_ticks": 4999}]
)
def test_the_fingerprint_tells_terms_apart(other):
    assert replace(TERMS, **other).fingerprint != TERMS.fingerprint


def test_a_claim_tells_the_time_in_ticks_and_what_is_over():
    claim = Claim(3, 10, 20, "token", now_us=12_345_678, seen=Seen("record", 7, 12_345_678))
    assert claim.time(TERMS) == (12_345, 678_000)
    assert claim.time(replace(TERMS, epoch_us=2_000_001)) == (10_345, 677_000)
    assert claim.time(replace(TERMS, tick_us=0)) == (0, 0)


def test_a_member_that_was_told_nothing_knows_nothing():
    """A revision above 0 would be taken for the memory of a record that was lost."""
    assert Seen() == Seen(sid="", revision=0, now_us=0)
