"""The verbs at their limits: the last that is one way, and the first that is the other."""

import pytest

from frazil.claims.claim import Claim, LastSeen, Lost, Wait
from frazil.claims.record import JUMP_US, WITNESS_US, Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ClockError, ConfigError, LayoutExhausted
from tests.unit.claims.test_record import NOW, TERMS, World, region
from tests.unit.claims.test_record_counters import TERMS as COUNTER


def test_an_untouched_slot_has_a_floor_of_zero():
    assert Slot() == Slot(0, 0, "", "", 0)
    record = Record()
    assert (record.revision, record.guard) == (0, 0)
    assert (record.last_us, record.offset_us, record.top_us) == (0, 0, 0)


@pytest.mark.parametrize(
    ("step_us", "apart_us", "believed"),
    [
        (JUMP_US, WITNESS_US + 1, True),
        (JUMP_US + 1, WITNESS_US, True),
        (JUMP_US + 1, -WITNESS_US, True),
        (JUMP_US + 1, WITNESS_US + 1, False),
        (JUMP_US + 1, -WITNESS_US - 1, False),
    ],
)
def test_a_jump_is_more_than_a_minute_and_a_witness_agrees_within_ten_seconds(
    step_us, apart_us, believed
):
    assert (JUMP_US, WITNESS_US) == (60_000_000, 10_000_000)
    world = World()
    world.us += step_us
    if believed:
        assert isinstance(world.grant(10, witness=world.us + apart_us), Claim)
    else:
        with pytest.raises(ClockError):
            world.grant(10, witness=world.us + apart_us)


@pytest.mark.parametrize(("horizon", "want", "least"), [(10_000, 500, 100), (4, 3, 1), (300, 2, 2)])
def test_a_hundredth_of_the_horizon_is_worth_waiting_for(horizon, want, least):
    world = World(TERMS._replace(slots=range(1), horizon_ticks=horizon))
    world.grant(horizon)
    reply = world.grant(want)
    assert isinstance(reply, Wait)
    assert reply.wait_us == least * 1000
    world.tick(least)
    slot, start, until = region(world.grant(want))
    assert (slot, until - start) == (0, least)


@pytest.mark.parametrize(
    ("terms", "what"),
    [(TERMS._replace(end=NOW + 100), "time field"), (COUNTER._replace(end=1000), "counter")],
    ids=["time", "counter"],
)
def test_the_error_at_the_end_names_the_field(terms, what):
    with pytest.raises(LayoutExhausted, match=f"the {what} of"):
        mint_to_the_end(World(terms))


def mint_to_the_end(world):
    while True:
        world.mint(64)
        world.tick(1)


def test_forward_is_named_only_where_there_is_something_to_lose():
    with pytest.raises(ConfigError) as missing:
        World(COUNTER, new=False).grant(1)
    assert "--forward" not in str(missing.value)
    replaced = World(COUNTER)
    replaced.incarnation = "other data/boot"
    with pytest.raises(ConfigError, match="--start N --forward"):
        replaced.grant(1)


def test_a_slot_stays_as_it_was_read():
    slot = Slot(7, 3, "token")
    with pytest.raises(AttributeError):
        slot.until = 8
    assert not hasattr(slot, "__dict__")
    assert not hasattr(Record(), "__dict__")


def test_floors_at_and_before_the_guard_are_equal():
    """Both may be given away from the guard on, so the lowest is taken."""
    slots = SlotTable({0: Slot(3), 1: Slot(5), 2: Slot(6), 3: Slot(11)})
    assert slots.best_free(10, 5, range(2), 0) == 0
    assert slots.best_free(10, 5, range(4), 0) == 2
    assert slots.best_free(10, 4, range(2), 0) == 1


@pytest.mark.parametrize(("start", "lost"), [(9, True), (10, False), (12, True)])
def test_only_the_same_claim_can_have_been_given_back(start, lost):
    """Else its slot went to somebody else before its end, which no grant does."""
    world = World()
    mine = world.grant(1)
    world.record.slots.put(0, Slot(NOW + 15, NOW + start))
    held = mine._replace(start=NOW + 10, until=NOW + 20)
    assert isinstance(world.renew(held, NOW + 30, seen=mine.seen), Lost)
    assert (world.record.guard > NOW) == lost


@pytest.mark.parametrize("sid", ["!", "~"])
@pytest.mark.parametrize(("later_us", "lost"), [(0, False), (999, False), (1000, True)])
def test_a_clock_remembered_of_another_record_is_a_loss_past_the_guard(sid, later_us, lost):
    world = World()
    world.grant(10)
    world.record.guard = NOW + TERMS.horizon_ticks
    world.grant(10, seen=LastSeen(sid, 0, NOW * 1000 + later_us))
    assert bool(world.record.slots.get(0).token) != lost


@pytest.mark.parametrize("sid", ["!", "~"])
def test_a_counter_that_its_member_knows_as_another_is_refused(sid):
    """Whichever of the two names sorts first."""
    world = World(COUNTER)
    told = world.grant(1).seen
    with pytest.raises(ConfigError, match="older than values that were already granted"):
        world.grant(1, seen=told._replace(sid=sid))
