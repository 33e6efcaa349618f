"""The verbs, on a record in memory: each rule of the protocol by itself."""

from dataclasses import replace

import pytest

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ClockError, ConfigError, LayoutExhausted

LAYOUT = "time:40 node:2 sequence:2 @1ms since 1970-01-01T00:00:00Z"
TERMS = Terms("same", LAYOUT, range(4), 4, 1 << 40, 1000, 0, 100)
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

    def verb(self, name, ask, *values):
        verb = getattr(self.record, name)
        reply = verb(self.terms, ask, self.us, self.incarnation, *values)
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


def test_a_new_namespace_grants_at_once():
    assert region(World().grant(10)) == (0, NOW, NOW + 10)


def test_a_first_use_waits_one_horizon():
    world = World(new=False)
    reply = world.grant(10)
    assert isinstance(reply, Wait)
    assert reply.wait_us == 113_000
    world.tick(112)
    assert world.grant(10).wait_us == 1_000
    world.tick(1)
    assert region(world.grant(10)) == (0, NOW + 113, NOW + 123)


def test_nothing_is_given_beyond_the_horizon_by_any_verb():
    world = World()
    claim = world.grant(1000)
    assert region(claim) == (0, NOW, NOW + 100)
    assert world.renew(claim, NOW + 1000).until == NOW + 100
    world.tick(5)
    assert world.renew(claim, NOW + 1000).until == NOW + 105
    assert world.mint(1000).until == NOW + 105


@pytest.mark.parametrize("given_back", [True, False])
def test_best_fit_keeps_untouched_slots_in_reserve(given_back):
    world = World()
    claims = [world.grant(10), world.grant(20)]
    assert [claim.slot for claim in claims] == [0, 1]
    for claim in claims if given_back else ():
        world.release(claim, claim.until)
    world.tick(30 if given_back else 120)  # a horizon after the end nobody is late any more
    assert world.grant(10).slot == 1  # its floor is the greatest at or before now
    assert world.grant(10).slot == 0
    assert world.grant(10).slot == 2


def test_a_member_that_may_only_be_late_keeps_its_slot():
    """Another one takes an untouched slot; if there is none, the one that ended first."""
    world = World()
    late = [world.grant(ticks) for ticks in (20, 10, 30)]
    world.tick(50)
    newcomer = world.grant(100)
    assert newcomer.slot == 3
    late = [world.renew(claim, NOW + 60 + claim.slot) for claim in reversed(late)][::-1]
    assert [claim.until for claim in late] == [NOW + 60, NOW + 61, NOW + 62]
    world.tick(20)
    assert world.grant(100).slot == 0
    assert isinstance(world.renew(late[0], NOW + 80), Lost)
    assert isinstance(world.renew(late[1], NOW + 80), Claim)


def test_a_full_pool_is_shared_in_time():
    world = World()
    claims = [world.grant(10 + n) for n in range(4)]
    extra = world.grant(10)
    assert region(extra) == (0, NOW + 10, NOW + 20)
    assert isinstance(world.renew(claims[0], NOW + 50), Lost)
    assert isinstance(world.release(claims[0], NOW + 1), Lost)
    assert isinstance(world.renew(claims[1], NOW + 50), Claim)


def test_a_full_pool_waits_at_the_horizon():
    world = World()
    for _ in range(4):
        world.grant(100)
    reply = world.grant(10)
    assert isinstance(reply, Wait)
    world.us += reply.wait_us
    assert isinstance(world.grant(10), Claim)


def test_of_equal_floors_one_without_a_holder_is_taken():
    world = World()
    claims = [world.grant(10) for _ in range(4)]
    world.release(claims[2], NOW + 10)
    assert world.grant(10).slot == 2


def test_renewal_needs_the_token_and_the_until():
    world = World()
    claim = world.grant(10)
    longer = world.renew(claim, NOW + 20)
    assert longer.until == NOW + 20
    assert isinstance(world.renew(claim, NOW + 30), Lost)  # a reply that was lost: until differs
    forged = Claim(0, NOW, NOW + 20, "other", T0)
    assert isinstance(world.renew(forged, NOW + 30), Lost)


def test_a_late_renewal_by_the_last_holder_is_fine():
    world = World()
    claim = world.grant(10)
    world.tick(50)
    assert world.renew(claim, NOW + 60).until == NOW + 60


def test_release_gives_back_the_rest_once():
    world = World()
    claim = world.grant(50)
    world.tick(3)
    assert isinstance(world.release(claim, NOW + 3), LastSeen)
    assert isinstance(world.release(claim, NOW + 3), Lost)
    assert region(world.grant(10)) == (0, NOW + 3, NOW + 13)


@pytest.mark.parametrize("used", [NOW - 1, NOW + 51])
def test_release_refuses_a_tick_outside_the_claim(used):
    world = World()
    assert isinstance(world.release(world.grant(50), used), Lost)


def test_mint_leaves_no_token():
    world = World()
    claim = world.mint(3)
    assert (claim.token, region(claim)) == ("", (0, NOW, NOW + 3))
    assert world.record.slots.get(0).token == ""
    with pytest.raises(ConfigError):
        world.renew(claim, NOW + 10)


class TestClock:
    def test_now_never_goes_back(self):
        world = World()
        nows = []
        for step in (5, -3_600_000, 10, 10, 70, -1, 0, 3_000):
            world.tick(step)
            nows.append(world.mint(1).now_us)
        assert nows == sorted(nows)

    def test_after_a_step_back_claims_are_still_granted(self):
        world = World()
        claim = world.grant(50)
        world.tick(-3_600_000)
        assert world.mint(1).now_us == T0
        world.tick(8)
        longer = world.renew(claim, NOW + 80)
        assert longer.until == NOW + 80
        assert longer.now_us == T0 + 7_000  # an eighth of what passed makes up for the step

    def test_the_offset_also_shrinks_when_verbs_come_every_tick(self):
        world = World()
        world.tick(-100)
        world.mint(1)
        for _ in range(1000):
            world.tick(1)
            world.mint(1)
        assert world.record.offset_us == 0

    @pytest.mark.parametrize("back_ms", [70_000, 3_600_000, 2 * 365 * 86_400_000])
    def test_a_clock_that_is_set_right_leaves_nothing_in_the_future(self, back_ms):
        world = World()
        world.tick(-back_ms)
        assert world.mint(1).now_us == T0
        world.tick(back_ms + 1000)
        assert world.mint(1).now_us == T0 + 1_000_000
        assert world.record.offset_us == 0

    def test_a_clock_that_is_set_right_in_two_steps(self):
        world = World()
        for step_ms in (-86_400_000, 82_800_000, 3_600_000):
            world.tick(step_ms)
            assert world.mint(1).now_us == T0
        assert world.record.offset_us == 0

    @pytest.mark.parametrize(
        ("back_ms", "on_ms", "whole"),
        [
            (3_600_000, 80_000, False),  # a while without verbs is no clock set right
            (60_000, 60_000, False),
            (60_000, 60_001, True),
            (200_000, 100_000, False),
            (200_000, 100_001, True),
            (280_000, 100_000, False),
        ],
    )
    def test_how_the_offset_shrinks(self, back_ms, on_ms, whole):
        world = World()
        world.tick(-back_ms)
        world.mint(1)
        world.tick(on_ms)
        world.mint(1)
        passed_us = on_ms * 1000
        left_us = back_ms * 1000 - (passed_us if whole else passed_us // 8)
        assert world.record.offset_us == max(0, left_us)

    @pytest.mark.parametrize("clocks_s", [(-3600, -600, 3600), (-25, 25), (0, -60, 20)])
    def test_clocks_that_take_turns_do_not_add_up(self, clocks_s):
        world, seen = World(), LastSeen()
        for number in range(1000):
            boot_us, clock_us = number * 10_000, clocks_s[number % len(clocks_s)] * 1_000_000
            world.us = T0 + 3_600_000_000 + boot_us + clock_us
            ask = world.ask(seen=seen)._replace(boot_us=boot_us)
            reply = world.verb("mint", ask, 1)
            seen = reply.seen
            assert reply.now_us <= T0 + 3_600_000_000 + boot_us * 1.001 + max(clocks_s) * 1_000_000

    def test_a_step_forward_needs_a_witness(self):
        world = World()
        before = world.record.last_us, world.record.revision
        wrong = world.us
        world.tick(3_600_000)
        with pytest.raises(ClockError) as caught:
            world.grant(10, witness=wrong)
        assert caught.value.reading_us == world.us
        assert (world.record.last_us, world.record.revision) == before
        assert isinstance(world.grant(10), Claim)  # when both say so, it is so

    def test_a_first_reading_needs_one_too(self):
        world = World(new=False)
        with pytest.raises(ClockError):
            world.grant(10, witness=T0 - 3_600_000_000)
        assert world.record.sid == ""

    def test_a_clock_before_the_epoch_is_refused(self):
        world = World(Terms("same", LAYOUT, range(4), 4, 1 << 40, 1000, 2 * T0, 100), new=False)
        with pytest.raises(ClockError, match="epoch"):
            world.grant(10)


class TestLoss:
    def test_the_guard_lies_beyond_all_that_was_given(self):
        world = World()
        given = [world.grant(100) for _ in range(3)]
        world.record = Record()  # forgotten
        world.tick(1)
        while isinstance(reply := world.grant(10), Wait):
            world.us += reply.wait_us
        assert reply.start >= max(claim.until for claim in given)

    def test_another_incarnation_voids_every_token(self):
        world = World()
        claim = world.grant(50)
        world.incarnation = "data/another boot"
        assert isinstance(world.renew(claim, NOW + 90), Lost)
        assert world.record.guard == NOW + 113
        assert not any(slot.token for _, slot in world.record.slots.stored())

    def test_members_remember_the_revision(self):
        world = World()
        claim = world.grant(10)
        seen = claim.seen
        world.record.revision = 0  # an older copy was put back
        world.grant(10, seen=seen)
        assert world.record.guard == NOW + 113

    def test_a_request_with_a_claim_reveals_a_loss(self):
        world = World()
        claim = world.grant(50)
        world.record.slots = SlotTable()
        world.release(claim, NOW + 50)
        assert world.record.guard >= NOW + 113

    def test_members_remember_the_clock(self):
        world = World()
        world.tick(5_000)
        seen = world.grant(100).seen
        world.record = Record()
        world.us = T0  # and the clock is back too: the double fault, closed by one member's memory
        world.grant(10, seen=seen)
        assert world.record.guard == NOW + 5_000 + 113

    def test_a_member_of_another_record_counts_by_its_clock(self):
        world = World()
        world.grant(10, seen=LastSeen("another", 999, world.us + 50_000, sent_us=world.us))
        assert world.record.guard == NOW + 163
        guard = world.record.guard
        world.grant(10, seen=LastSeen("another", 9, world.us - 50_000_000, sent_us=world.us))
        assert world.record.guard == guard

    def test_holders_use_their_claims_to_the_end_and_no_new_claim_overlaps(self):
        world = World()
        claim = world.grant(100)
        world.incarnation = "data/2"
        reply = world.grant(50)
        while isinstance(reply, Wait):
            world.us += reply.wait_us
            reply = world.grant(50)
        assert reply.start >= claim.until


class TestTerms:
    def test_other_terms_are_refused_with_both_drawings(self):
        world = World()
        other = "time:40 node:1 sequence:3 @1ms since 1970-01-01T00:00:00Z"
        terms = Terms("other", other, range(2), 2, 1 << 40, 1000, 0, 100)
        with pytest.raises(ConfigError) as caught:
            world.record.grant(terms, world.ask(), world.us, "data/boot", 10)
        assert LAYOUT in str(caught.value)
        assert other in str(caught.value)
        assert str(caught.value).count("┌") == 2

    def test_the_end_of_the_time_field(self):
        end = NOW + 30
        world = World(Terms("same", LAYOUT, range(4), 4, end, 1000, 0, 100))
        assert world.grant(1000).until == end
        world.tick(29)
        assert region(world.grant(10)) == (1, end - 1, end)
        world.tick(1)
        with pytest.raises(LayoutExhausted):
            world.grant(10)

    def test_a_second_initialise_is_refused(self):
        world = World()
        with pytest.raises(ConfigError, match="already"):
            world.record.initialise(TERMS, world.ask(), world.us, "data/boot", 0)


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


def test_the_epoch_itself_is_a_valid_time():
    record = Record()
    ask = VerbRequest(LastSeen(), T0, "token", "me")
    terms = TERMS._replace(epoch_us=T0)
    record.initialise(terms, ask, T0, "x", 0)
    claim = record.grant(terms, ask._replace(witness_us=T0), T0, "x", 1)
    assert region(claim) == (0, 0, 1)


def test_a_claim_that_ends_now_is_not_held():
    """On a tie of floors the lowest slot that nobody holds is given, and that is not the second."""
    table = SlotTable({0: Slot(NOW, NOW - 5, "token", "me")})
    assert table.lowest_floor(NOW, NOW + 10, range(2)) == 0
    assert table.lowest_floor(NOW - 1, NOW + 10, range(2)) == 1
