"""The verbs, on a record in memory: rules, limits and traces of which the contract says nothing.

The contract of the verbs is the conformance kit (tests/conformance/test_local.py), and
tests/property/test_claims_lua.py compares them with the script, at their limits too.
"""

import copy
from dataclasses import replace
from functools import partial

import pytest

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ConfigError, LayoutExhausted

LAYOUT = "time:40 node:2 sequence:2 @1ms since 1970-01-01T00:00:00Z"
TERMS = Terms("same", LAYOUT, range(4), 4, 1 << 40, 1000, 0, 100)
COUNTER = Terms("count", "run:30 sequence:14", range(1), 1, 1 << 30, 0, 0, 64)
T0 = 1_000_000_000  # µs, so tick 1,000,000
NOW = T0 // 1000


class World:
    """A record, a clock for it, and members with a memory."""

    def __init__(self, terms=TERMS, *, new=True):
        self.terms, self.record, self.us, self.tokens = terms, Record(), T0, 0
        self.incarnation = "data/boot"
        self.told = "", 0
        if new:
            self.record.initialise(terms, self.ask(), self.us, self.incarnation, 0)

    def ask(self, seen=None, held=None, witness=None):
        """A request; without ``seen`` from a member that only knows how long this life lasts."""
        self.tokens += 1
        witness = self.us if witness is None else witness
        if seen is None:
            seen = LastSeen(*self.told[:1], sent_us=self.us, told_us=self.told[1])
        return VerbRequest(seen, witness, f"token{self.tokens}", "me", held, self.us)

    def verb(self, verb, ask, *values):
        call = partial(verb, self.record) if callable(verb) else getattr(self.record, verb)
        reply = call(self.terms, ask, self.us, self.incarnation, *values)
        memory = ask.memory(reply, self.us, self.terms)
        if memory.sid != self.told[0]:
            self.told = memory.sid, self.us
        return memory if isinstance(reply, LastSeen) else reply._replace(seen=memory)

    def grant(self, want=10, **ask):
        return self.verb("grant", self.ask(**ask), want)

    def mint(self, ticks, **ask):
        return self.verb("mint", self.ask(**ask), ticks)

    def renew(self, claim, until, **ask):
        return self.verb("renew", self.ask(held=claim, **ask), until)

    def release(self, claim, used, **ask):
        return self.verb("release", self.ask(held=claim, **ask), used)

    def tick(self, ticks):
        self.us += ticks * 1000


def region(claim):
    assert isinstance(claim, Claim), claim
    return claim.slot, claim.start, claim.until


def test_an_untouched_slot_has_a_floor_of_zero():
    record = Record()
    assert Slot() == Slot(0, 0, "", "", 0)
    assert (record.revision, record.guard) == (0, 0)
    assert (record.last_us, record.offset_us, record.top_us) == (0, 0, 0)


def test_a_first_use_waits_one_horizon():
    world = World(new=False)
    reply = world.grant(10)
    assert isinstance(reply, Wait)
    assert reply.wait_us == 113_000
    world.tick(112)
    assert world.grant(10).wait_us == 1_000
    world.tick(1)
    assert region(world.grant(10)) == (0, NOW + 113, NOW + 123)


@pytest.mark.parametrize("clocks_s", [(-3600, -600, 3600), (-25, 25), (0, -60, 20)])
def test_clocks_that_take_turns_do_not_add_up(clocks_s):
    world, seen = World(), LastSeen()
    for number in range(1000):
        boot_us, clock_us = number * 10_000, clocks_s[number % len(clocks_s)] * 1_000_000
        world.us = T0 + 3_600_000_000 + boot_us + clock_us
        ask = world.ask(seen=seen)._replace(boot_us=boot_us)
        reply = world.verb("mint", ask, 1)
        seen = reply.seen
        assert reply.now_us <= T0 + 3_600_000_000 + boot_us * 1.001 + max(clocks_s) * 1_000_000


def test_other_terms_are_refused_with_both_drawings():
    world = World()
    other = "time:40 node:1 sequence:3 @1ms since 1970-01-01T00:00:00Z"
    terms = Terms("other", other, range(2), 2, 1 << 40, 1000, 0, 100)
    with pytest.raises(ConfigError) as caught:
        world.record.grant(terms, world.ask(), world.us, "data/boot", 10)
    assert LAYOUT in str(caught.value)
    assert other in str(caught.value)
    assert str(caught.value).count("┌") == 2


def test_a_lost_claim_that_began_where_one_was_given_back_is_noticed():
    """What was lost looks as if this very claim had been given back; the revision tells."""
    world = World()
    first = world.grant(10)
    seen = world.release(first, first.start, seen=first.seen)
    older = replace(world.record, slots=SlotTable(world.record.slots))
    second = world.grant(10, seen=seen)
    assert region(second) == region(first)
    world.record = older
    assert isinstance(world.renew(second, second.until + 10, seen=second.seen), Lost)
    assert isinstance(world.grant(10), Wait)


def test_a_voided_claim_is_not_taken_for_one_given_back():
    """Another member notices the loss; then the holder reports a renewal that was lost."""
    world = World()
    first = world.grant(10)
    older = replace(world.record, slots=SlotTable(world.record.slots))
    world.tick(20)
    longer = world.renew(first, first.until + 200, seen=first.seen)
    world.record, world.incarnation, world.us = older, "data/boot2", T0 - 200_000
    assert isinstance(world.grant(10), Wait)
    guard = world.record.guard
    assert guard < longer.until
    assert isinstance(world.renew(longer, longer.until + 10, seen=longer.seen), Lost)
    assert world.record.guard >= longer.until


@pytest.mark.parametrize("start", [-1, 1 << 40])
def test_a_start_outside_the_layout(start):
    record = Record()
    ask = VerbRequest(LastSeen(), T0, "token", "me")
    with pytest.raises(ConfigError, match=r"--start .* is not within 0\.\.1099511627775"):
        record.initialise(TERMS, ask, T0, "x", start)
    assert not record.sid


@pytest.mark.parametrize("identity", [f"other {n}" for n in range(6)])
def test_a_namespace_with_other_terms_is_not_initialised_anew(identity):
    """Whichever of the two fingerprints is the greater."""
    world = World()
    before = world.record.revision
    other = TERMS._replace(identity=identity)
    with pytest.raises(ConfigError, match="A namespace has one scheme"):
        world.record.initialise(other, world.ask(), T0, world.incarnation, 5)
    assert world.record.revision == before


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


@pytest.mark.parametrize("other", ["a/boot", "z/boot"])
def test_a_restart_is_not_a_loss_of_a_counter_but_another_store_is(other):
    """Whichever of the two names is the greater."""
    world = World(COUNTER)
    world.incarnation = "data/another boot"
    assert isinstance(world.grant(10), Claim)
    world.incarnation = other
    with pytest.raises(ConfigError, match="was replaced"):
        world.grant(10)


def test_a_counter_that_lost_a_renewal_does_not_renew_over_it():
    """An older copy that others have used since, so that its revision tells nothing."""
    world = World(COUNTER._replace(slots=range(4), nodes=4))
    claim = world.grant(10)
    older = copy.deepcopy(world.record)
    longer = world.renew(claim, claim.until + 10)
    assert isinstance(longer, Claim)
    world.record = older
    for _ in range(5):
        world.mint(1)
    assert isinstance(world.renew(longer, longer.until + 10, seen=longer.seen), Lost)
