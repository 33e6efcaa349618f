"""The verb that gives a slot away for ever."""

import pytest

from frazil.claims.claim import Claim, Lost
from frazil.claims.record import Record
from frazil.errors import ConfigError, LayoutExhausted, PoolExhausted
from tests.unit.claims.test_record import NOW, TERMS, World, region


def reserve(world):
    return world.record.reserve(world.terms, world.ask(), world.us, world.incarnation)


def test_it_begins_where_the_last_claim_ended():
    world = World()
    claim = world.grant(50)
    world.tick(20)
    world.release(claim, NOW + 30)
    world.tick(20)
    assert region(reserve(world)) == (0, NOW + 40, TERMS.end)


def test_the_holder_before_cannot_renew():
    world = World()
    claim = world.grant(10)
    world.tick(110)  # until then its holder may only be late
    assert reserve(world).slot == claim.slot
    assert isinstance(world.renew(claim, NOW + 150), Lost)


def test_no_verb_grants_it_again():
    world = World()
    reserved = reserve(world)
    slots = {region(world.grant(10))[0] for _ in range(9)}
    assert slots == set(range(4)) - {reserved.slot}


def test_it_survives_a_loss_that_keeps_the_record():
    world = World()
    reserved = reserve(world)
    world.incarnation = "data/another boot"
    world.grant(10)
    world.tick(200)
    assert reserved.slot not in {region(world.grant(10))[0] for _ in range(9)}


def test_after_a_loss_it_begins_after_the_wait():
    world = World(new=False)
    with pytest.raises(PoolExhausted, match=r"for 0\.1 s"):
        reserve(world)
    world.record = Record()  # nothing was saved
    world.grant()
    world.tick(TERMS.wait_ticks - 1)
    with pytest.raises(PoolExhausted):
        reserve(world)
    world.tick(1)
    assert region(reserve(world))[1] == NOW + TERMS.wait_ticks


def test_at_the_guard_nothing_is_left_to_wait_for():
    world = World()
    world.grant(10)
    world.record.guard = NOW
    assert region(reserve(world)) == (1, NOW, TERMS.end)


def test_one_node_number_is_left():
    world = World()
    for _ in range(3):
        reserve(world)
    with pytest.raises(ConfigError, match="3 are"):
        reserve(world)
    assert isinstance(world.grant(10), Claim)


def test_a_held_one_is_not_taken():
    world = World()
    for _ in range(4):
        world.grant(50)
    with pytest.raises(ConfigError, match="stop a generator"):
        reserve(world)


@pytest.mark.parametrize("reserved", [0, 3])
def test_a_layout_without_time_says_so(reserved):
    world = World()
    for _ in range(reserved):
        reserve(world)
    world.tick(TERMS.end - NOW)
    with pytest.raises(LayoutExhausted, match=r"time field of .* is used up .*wider layout"):
        reserve(world)
