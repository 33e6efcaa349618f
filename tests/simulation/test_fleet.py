"""Fleets of members: what a store carries, and that no two claims overlap there either."""

import random

import pytest

from evidence.simulator.fleet import Fleet, Plan
from evidence.simulator.indexed import IndexedSlots
from evidence.simulator.violation import Violation
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable

ALL = range(8)


@pytest.mark.parametrize("seed", range(40))
def test_the_index_answers_as_the_table(seed):
    rng = random.Random(seed)
    plain, indexed = SlotTable(), IndexedSlots()
    for _ in range(200):
        now, guard = rng.randrange(30), rng.choice((0, 0, rng.randrange(30)))
        asked = now, guard, ALL, rng.randrange(30)
        assert indexed.best_free(*asked) == plain.best_free(*asked)
        assert indexed.lowest_floor(now, guard, ALL) == plain.lowest_floor(now, guard, ALL)
        if rng.random() < 0.02:
            plain.void_tokens()
            indexed.void_tokens()
        number = rng.choice(ALL)
        slot = Slot(rng.randrange(30), 0, rng.choice(("", "token")))
        plain.put(number, slot)
        indexed.put(number, slot)
    assert list(indexed.stored()) == list(plain.stored())


def test_after_a_loss_all_claim_again_after_the_wait():
    fleet = Fleet(Plan(members=300, slots=512, loss_at_s=15)).run()
    assert fleet.interrupted == 300
    assert 1_000_000 < max(fleet.waits_us) <= 5_800_000


def test_members_that_started_together_soon_renew_at_different_times():
    fleet = Fleet(Plan(members=2000, slots=4096, rise_s=0.5, lasts_s=40, step_us=100)).run()
    each = [fleet.in_second[second] for second in range(10, 40)]
    assert 0 < max(each) < 2 * min(each)


def test_more_members_than_node_numbers_wait():
    fleet = Fleet(Plan(members=300, slots=200)).run()
    assert max(fleet.waits_us) > 1_000_000


class Leases(Record):
    """Takes a number back from a member whose time is over, and grants what it had used ahead."""

    def floor(self, n):
        return max(self.slots.get(n).until - 500, self.guard)


def test_claims_that_overlap_are_found(monkeypatch):
    monkeypatch.setattr("evidence.simulator.fleet.Record", Leases)
    with pytest.raises((Violation, AssertionError)):
        Fleet(Plan(members=300, slots=200)).run()
