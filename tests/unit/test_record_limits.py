"""The verbs at their limits: the last that is one way, and the first that is the other."""

from dataclasses import replace

import pytest

from frazil.claim import Claim, Wait
from frazil.errors import ClockError, ConfigError, LayoutExhausted
from frazil.record import JUMP_US, WITNESS_US, Record, Slot
from tests.unit.test_record import NOW, TERMS, World, region
from tests.unit.test_record_counters import TERMS as COUNTER

__all__: list[str] = []


def test_what_nobody_has_touched_is_at_zero():
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
    world = World(replace(TERMS, slots=range(1), horizon_ticks=horizon))
    world.grant(horizon)
    reply = world.grant(want)
    assert isinstance(reply, Wait)
    assert reply.wait_us == least * 1000
    world.tick(least)
    slot, start, until = region(world.grant(want))
    assert (slot, until - start) == (0, least)


@pytest.mark.parametrize(
    ("terms", "what"),
    [(replace(TERMS, end=NOW + 100), "time field"), (replace(COUNTER, end=1000), "counter")],
    ids=["time", "counter"],
)
def test_the_end_is_told_of_the_field_that_has_come_to_it(terms, what):
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
