"""The verbs on a counter, a record of a layout without time."""

import copy

import pytest

from frazil.claims.claim import Claim, Lost, Terms
from frazil.errors import ConfigError, LayoutExhausted
from tests.unit.claims.test_record import World, region

TERMS = Terms("count", "run:30 sequence:14", range(1), 1, 1 << 30, 0, 0, 64)


def test_a_missing_counter_is_an_error():
    with pytest.raises(ConfigError, match="frazil init"):
        World(TERMS, new=False).grant(1)


def test_blocks_follow_each_other():
    world = World(TERMS)
    assert [region(world.grant(2)) for _ in range(3)] == [(0, 0, 2), (0, 2, 4), (0, 4, 6)]


def test_renewal_and_release():
    world = World(TERMS)
    claim = world.grant(2)
    claim = world.renew(claim, 5)
    assert claim.until == 5
    world.release(claim, 3)
    assert region(world.grant(1)) == (0, 3, 4)


def test_start():
    world = World(TERMS, new=False)
    world.record.initialise(TERMS, world.ask(), 0, "data/boot", 700)
    assert region(world.grant(1)) == (0, 700, 701)


def test_a_restart_is_not_a_loss_but_another_store_is():
    world = World(TERMS)
    world.incarnation = "data/another boot"
    assert isinstance(world.grant(1), Claim)
    world.incarnation = "other data/boot"
    with pytest.raises(ConfigError, match="replaced"):
        world.grant(1)


def test_an_older_copy_is_refused():
    world = World(TERMS)
    seen = world.grant(1).seen
    world.record.revision = 0
    with pytest.raises(ConfigError, match="older"):
        world.grant(1, seen=seen)


def test_the_end():
    world = World(TERMS, new=False)
    world.record.initialise(TERMS, world.ask(), 0, "data/boot", (1 << 30) - 1)
    assert world.grant(5).until == 1 << 30
    with pytest.raises(LayoutExhausted):
        world.grant(1)


@pytest.mark.parametrize("other", ["a/boot", "z/boot"])
def test_a_counter_in_another_store(other):
    """Whichever of the two names is the greater."""
    world = World(TERMS)
    world.grant(10)
    world.incarnation = other
    with pytest.raises(ConfigError, match="was replaced"):
        world.grant(10)


def test_a_counter_that_lost_a_renewal_does_not_renew_over_it():
    """An older copy that others have used since, so that its revision tells nothing."""
    world = World(TERMS._replace(slots=range(4), nodes=4))
    claim = world.grant(10)
    older = copy.deepcopy(world.record)
    longer = world.renew(claim, claim.until + 10)
    assert isinstance(longer, Claim)
    world.record = older
    for _ in range(5):
        world.mint(1)
    assert isinstance(world.renew(longer, longer.until + 10, seen=longer.seen), Lost)
