"""Regions of the past: a person's word first, then claims like all others, without a token."""

import random

import pytest

from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.claims.past import MARGIN_US, claim_past, declare_past
from frazil.claims.record import Record
from frazil.errors import ConfigError
from tests.unit.claims.test_record import NOW, TERMS, World, region

MARGIN = MARGIN_US // 1000


class PastWorld(World):
    def claim_past(self, start=-1, stop=0):
        return self.verb(claim_past, self.ask(), (start, stop))

    def declare(self, start=0):
        return self.verb(declare_past, self.ask(), start)


def declared(start=0):
    world = PastWorld()
    world.declare(start)
    return world


def test_a_new_namespace_has_no_known_past():
    world = PastWorld()
    for start in (-1, 0, NOW - 1):
        with pytest.raises(ConfigError, match=r"is unused at all; if no ID .*--declare-past-from"):
            world.claim_past(start, NOW)


def test_the_future_is_not_declared():
    with pytest.raises(ConfigError, match="is not in the past, which ends at"):
        PastWorld().declare(NOW + 1)


def test_without_a_word_the_past_begins_a_minute_after_the_guard():
    world = PastWorld(new=False)
    assert isinstance(world.claim_past(), Wait)
    assert isinstance(world.declare(), Wait)
    world.tick(TERMS.wait_ticks)
    world.grant(1)
    first = NOW + TERMS.wait_ticks + MARGIN
    with pytest.raises(ConfigError, match=r"unused before .*--declare-past-from"):
        world.claim_past()
    world.tick(2 * MARGIN)
    with pytest.raises(ConfigError, match="unused before"):
        world.claim_past(first - 1, first + 5)
    assert region(world.claim_past(stop=first + 5))[1:] == (first, first + 5)


def test_counters_have_no_past():
    world = PastWorld(TERMS._replace(tick_us=0), new=False)
    for verb in (world.claim_past, world.declare):
        with pytest.raises(ConfigError, match="has no time, so its IDs have no past"):
            verb()


def test_the_layout_that_is_shown_has_no_word():
    other = TERMS._replace(
        identity="other", layout="time:40 sequence:2 @1ms since 2020-01-01T00:00:00Z"
    )
    world = declared()
    with pytest.raises(ConfigError) as caught:
        world.record.grant(other, world.ask(), world.us, world.incarnation, 1)
    assert caught.value.theirs == TERMS.layout


class Owned(set):
    """Cells with an owner; a second one is an error."""

    def add_all(self, reply, until=None):
        for tick in range(reply.start, reply.until if until is None else until):
            assert (reply.slot, tick) not in self
            self.add((reply.slot, tick))


@pytest.mark.parametrize("seed", range(60))
def test_no_cell_has_two_owners(seed):
    """Grants, renewals, releases, losses that show, words that are true, and pasts, at random."""
    dice = random.Random(seed)
    world, cells, held = PastWorld(), Owned(), []
    world.us += 1000 * 500
    for _ in range(300):
        world.tick(dice.choice([0, 1, 5, 40]))
        now = world.us // 1000
        kind = dice.choice(["grant", "mint", "renew", "release", "past", "past", "word", "loss"])
        if kind == "grant" and isinstance(claim := world.grant(dice.randint(1, 30)), Claim):
            held.append(claim)
            cells.add_all(claim)
        elif kind == "mint" and isinstance(claim := world.mint(dice.randint(1, 30)), Claim):
            cells.add_all(claim)
        elif kind == "renew" and held:
            at = dice.randrange(len(held))
            longer = world.renew(held[at], held[at].until + dice.randint(0, 50))
            if isinstance(longer, Claim):
                cells.add_all(longer._replace(start=held[at].until))
                held[at] = longer
        elif kind == "release" and held:
            claim = held.pop(dice.randrange(len(held)))
            used = dice.randint(claim.start, claim.until)
            if isinstance(world.release(claim, used), LastSeen):
                cells -= {(claim.slot, tick) for tick in range(used, claim.until)}
        elif kind == "word":
            # True: only a tick after all that a lost record granted is said to be unused.
            world.declare(min(now, max(now - 2000, world.record.guard)))
        elif kind == "loss" and dice.random() < 0.1:
            world.incarnation = f"data/{dice.random()}"
            if dice.random() < 0.5:
                world.record = Record()
        elif kind == "past":
            start = max(0, now - dice.choice([1, 20, 300, 2000]))
            try:
                claim = world.claim_past(dice.choice([start, -1]), dice.choice([0, start + 30]))
            except ConfigError:
                continue
            if isinstance(claim, Claim):
                assert claim.until <= now
                cells.add_all(claim)
