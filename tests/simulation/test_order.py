"""Order finds each kind of disorder, and accepts IDs within its bound."""

import pytest

from evidence.simulator.order import Base, Order
from evidence.simulator.violation import Violation
from frazil.claims.claim import Terms
from frazil.claims.record import Record

MS = 1000
S = 1_000_000
LEAD = 5 * MS
TERMS = Terms("toy", "", range(2), 2, 1 << 20, MS, 0, 10)


class World:
    """An order, a store's clock, and true time."""

    def __init__(self):
        self.order = Order(TERMS, LEAD)
        self.record = Record(last_us=100 * S)
        self.true_us = 100 * S

    def verb(self, passed_us, step_us=0, offset_us=0):
        self.true_us += passed_us
        read_us = self.record.last_us + passed_us + step_us
        after = Record(last_us=read_us, offset_us=offset_us)
        self.order.verb(self.record, after, self.true_us)
        self.record = after

    def issue(self, ahead_us, member=0):
        self.order.issue(member, (self.true_us + ahead_us) // MS, self.true_us)


@pytest.fixture
def world():
    world = World()
    base = Base.of(world.true_us, world.true_us - 20 * MS, world.true_us, world.true_us + 20 * MS)
    world.order.told(0, base)
    world.order.told(1, base)
    return world


def test_the_way_of_the_reply_the_lead_and_a_tick_are_accepted(world):
    world.issue(5 * MS)
    world.issue(-20 * MS, member=1)


@pytest.mark.parametrize("passed_us", [0, 1000 * S])
def test_ids_too_early_are_found(world, passed_us):
    world.true_us += passed_us
    drifted_us = passed_us // 1000 * 6 // 5
    with pytest.raises(Violation, match="ahead of true time"):
        world.issue(7 * MS + drifted_us)


def test_ids_too_late_are_found(world):
    with pytest.raises(Violation, match="ago"):
        world.issue(-22 * MS)


def test_drift_since_the_reply_is_accepted(world):
    world.true_us += 1000 * S
    world.issue(1000 * MS)


def test_an_id_too_far_behind_an_earlier_one_is_found(world):
    world.issue(5 * MS)
    world.order._top_us += 5 * MS
    with pytest.raises(Violation, match="behind an earlier ID"):
        world.issue(-20 * MS, member=1)


def test_a_member_without_a_reply_is_not_checked():
    World().issue(-S, member=3)


def test_an_absorbed_step_back_is_not_ahead(world):
    world.verb(S, -10 * S, offset_us=10 * S)
    world.verb(S, 10 * S, offset_us=9 * S)


def test_a_now_that_no_clock_accounts_for_is_found(world):
    with pytest.raises(Violation, match="accounts for 0"):
        world.verb(S, -10 * S, offset_us=10 * S + 1)


def test_a_corrected_clock_accounts_for_nothing(world):
    world.verb(S, -100 * S, offset_us=100 * S)
    with pytest.raises(Violation, match="accounts for 0"):
        world.verb(S, 100 * S, offset_us=87 * S)


def test_a_clock_set_wrong_accounts_for_its_step(world):
    world.verb(S, -200 * S, offset_us=200 * S)
    world.verb(S, 80 * S, offset_us=190 * S)
    with pytest.raises(Violation, match=f"accounts for {80 * S}"):
        world.verb(S, 0, offset_us=201 * S)
