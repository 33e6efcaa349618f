"""What members agree on, and what they tell each other."""

import pytest

from frazil.claims.claim import Claim, LastSeen, Terms, Wait

TERMS = Terms("d41d8cd9", "time:41 node:4 sequence:18 @1ms", range(16), 16, 1 << 41, 1000, 0, 5000)
SEEN = LastSeen("record", 7, 12_345_678)
CLAIM = Claim(3, 10, 20, "token", 12_345_678, SEEN)


def test_a_tick_of_a_microsecond_is_time():
    assert TERMS._replace(tick_us=1).timed
    assert not TERMS._replace(tick_us=0).timed


def test_the_fingerprint_is_that_of_earlier_versions():
    """Stores keep it: another one would be refused as a foreign layout."""
    assert TERMS.fingerprint == "e3f6f38103da979a"


@pytest.mark.parametrize(
    "other", [{"identity": "d41d8cd8"}, {"tick_us": 999}, {"epoch_us": 1}, {"horizon_ticks": 4999}]
)
def test_the_fingerprint_tells_terms_apart(other):
    assert TERMS._replace(**other).fingerprint != TERMS.fingerprint


def test_a_claim_converts_its_time_to_ticks_and_nanoseconds():
    assert CLAIM.time(TERMS) == (12_345, 678_000)
    assert CLAIM.time(TERMS._replace(epoch_us=2_000_001)) == (10_345, 677_000)
    assert CLAIM.time(TERMS._replace(tick_us=0)) == (0, 0)


def test_a_wait_ends_where_a_tick_begins():
    """At 12,345 ticks and 678 us: so the next begins in 322 us, and another one later."""
    assert Wait.ticks(1, TERMS, SEEN) == Wait(322, SEEN)
    assert Wait.ticks(3, TERMS, SEEN) == Wait(2322, SEEN)
    assert Wait.ticks(1, TERMS._replace(epoch_us=678), SEEN) == Wait(1000, SEEN)
    assert Wait.ticks(1, TERMS._replace(epoch_us=679), SEEN) == Wait(1, SEEN)
    assert Wait.ticks(1, TERMS._replace(tick_us=0), SEEN) == Wait(0, SEEN)


def test_a_new_member_has_an_empty_last_seen():
    """A revision above 0 would be taken for the memory of a record that was lost."""
    assert LastSeen() == LastSeen(sid="", revision=0, now_us=0)
