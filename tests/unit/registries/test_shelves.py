"""A namespace with several records in one store, which together are one."""

import random
from contextlib import contextmanager
from copy import deepcopy
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost, VerbRequest, Wait
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.claims.shelves import ShelvedSlots, counted, head, share, usual_count
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries.base import terms_of
from frazil.registries.shelves import Changes, ShelvedRegistry

SCHEME = frazil.scheme("time:41 node:5 sequence:2 @1ms since 2025-01-01")
HORIZON_MS, WAIT_MS, SHELVES = 1000, 1125, 4
TERMS = terms_of(SCHEME, HORIZON_MS * 1000)
OTHER = "time:41 node:6 sequence:1 @1ms since 2025-01-01T00:00:00Z"
T0 = 1_800_000_000_000_000


class Store:
    """Records, a clock, and what tells a loss. ms: true time; behind: of the store's clock."""

    def __init__(self):
        self.records, self.incarnation, self.ms, self.behind, self.steps = {}, 1, 0, 0, []

    def member(self, count=SHELVES, **terms):
        return Member(self, TERMS._replace(**terms), count)

    def keep(self):
        self.early = deepcopy(self.records)

    def put_back(self):
        """What was written since ``keep`` is lost, and nothing shows it."""
        self.records = deepcopy(self.early)


class Member(ShelvedRegistry):
    """A member, with its memory: of all shelves only the revision of the last one."""

    def __init__(self, store, terms, count):
        super().__init__("store:", "orders", terms)
        self._count(count)
        self.store, self.seen = store, LastSeen()

    def reading_us(self):
        return T0 + (self.store.ms - self.store.behind) * 1000

    @contextmanager
    def locked(self, names, beside):
        self.store.steps.append(len(names))
        records = [
            deepcopy(self.store.records.get(name)) or Record(PackedSlots())
            for name in (*names, *beside)
        ]
        changes = Changes(names, records)
        yield records, str(self.store.incarnation)
        self.store.records |= {name: record for name, record, _ in changes}

    def tell(self, verb, argument, claim=None):
        """The reply to a verb, which is remembered."""
        token, boot_us = f"{random.getrandbits(64):016x}", self.store.ms * 1000
        ask = VerbRequest(self.seen, T0 + boot_us, token, "me", claim, boot_us)
        reply = verb(ask, argument)
        self.seen = ask.memory(reply, boot_us, self.terms)
        return reply

    def ask(self, want=10):
        return self.tell(self.grant, want)

    def go_on(self, claim, more=0):
        return self.tell(self.renew, claim.until + more, claim)


@pytest.fixture
def store():
    made = Store()
    made.member().tell(made.member().initialise, 0)
    made.steps.clear()
    return made


def shelf_of(claim):
    return claim.slot // (32 // SHELVES)


def on(store, shelf, want=10):
    """A member with a claim of that shelf."""
    while True:
        member = store.member()
        if shelf_of(claim := member.ask(want)) == shelf:
            return member, claim
        member.tell(member.release, claim.start, claim)


def test_a_verb_asks_one_shelf(store):
    claims = []
    for _ in range(100):
        member = store.member()
        claim = member.go_on(member.ask(), 5)
        assert isinstance(member.tell(member.release, claim.start, claim), LastSeen)
        claims.append(claim)
    assert store.steps == [1] * 300
    assert {shelf_of(claim) for claim in claims} == set(range(SHELVES))


def test_times_that_are_claimed_for_one_call_come_from_one_shelf(store):
    first = store.member().tell(store.member().mint, 10)
    second = store.member().tell(store.member().mint, 10)
    assert store.steps == [1, 1]
    assert (first.slot, first.start) != (second.slot, second.start)


def test_a_claim_of_a_number_that_the_namespace_does_not_have_is_lost(store):
    member, claim = on(store, 3)
    assert isinstance(member.go_on(claim._replace(slot=32)), Lost)


def test_all_numbers_are_found_and_then_shared(store):
    claims = []
    for _ in range(32):
        store.steps.clear()
        claims.append(store.member().ask(10_000))
        assert len(store.steps) <= SHELVES
    assert sorted(claim.slot for claim in claims) == list(range(32))
    store.steps.clear()
    reply = store.member().ask(10_000)
    assert isinstance(reply, Wait)
    assert not reply.guarded
    assert store.steps == [1, SHELVES]
    store.ms += reply.wait_us // 1000 + 1
    shared = store.member().ask()
    assert shared.start >= next(each for each in claims if each.slot == shared.slot).until


@pytest.mark.parametrize("lost", ["one shelf", "incarnation", "memory"])
def test_what_shows_on_one_shelf_is_noticed_for_all_in_one_step(store, lost):
    store.keep()
    holders = [on(store, shelf, HORIZON_MS) for shelf in range(SHELVES)]
    store.ms += 500
    if lost == "one shelf":
        del store.records["orders\x1f2"]
    elif lost == "incarnation":
        store.incarnation += 1
    else:
        store.put_back()
    member, claim = holders[2]
    assert isinstance(member.go_on(claim), Lost)
    assert len({head(record) for record in store.records.values()}) == 1
    for shelf in range(SHELVES):
        newcomer = store.member()
        newcomer.seen = LastSeen(shelf=shelf)
        reply = newcomer.ask()
        assert isinstance(reply, Wait)
        assert reply.guarded
    for other, theirs in holders:
        assert isinstance(other.go_on(theirs), Lost)
    while not isinstance(reply := member.ask(), Claim):
        store.ms += reply.wait_us // 1000 + 1
    assert reply.start >= max(each.until for _, each in holders)
    assert isinstance(store.member().ask(), Claim)  # the wait is over on every shelf


def test_a_member_with_memory_asks_the_shelf_that_it_knows(store):
    member, claim = on(store, 3)
    store.keep()
    claim = member.go_on(claim, 5)
    member.tell(member.release, claim.start, claim)
    store.put_back()
    reply = member.ask()
    assert isinstance(reply, Wait)
    assert reply.guarded


@pytest.mark.parametrize("theirs", [1, 2, 8])
def test_members_count_as_the_record_does(store, theirs):
    store.records.clear()
    assert store.member().look() is None
    store.member(theirs).tell(store.member(theirs).initialise, 0)
    member = store.member()
    claim = member.ask()
    assert isinstance(member.go_on(claim, 1), Claim)
    assert member.count == theirs
    assert len(store.records) == theirs
    found = store.member().look()
    assert found.layout == TERMS.layout
    assert [each.slot for each in found.holdings] == [claim.slot]
    with pytest.raises(ConfigError, match="already has a record"):
        store.member().tell(store.member().initialise, 0)


def test_a_record_that_is_always_counted_otherwise_is_an_error(store, monkeypatch):
    member, others = store.member(), cycle([1, 2, 8])
    locked = member.locked

    def made_again(*names):
        store.records.clear()
        store.member(count := next(others)).tell(store.member(count).initialise, 0)
        return locked(*names)

    monkeypatch.setattr(member, "locked", made_again)
    with pytest.raises(RegistryUnavailable, match="too many members"):
        member.ask()


def test_another_scheme_is_refused_whatever_is_missing(store):
    del store.records["orders"], store.records["orders\x1f1"]
    before = {name: (head(record), record.revision) for name, record in store.records.items()}
    for _ in range(8):
        stranger = store.member(identity="other", layout=OTHER)
        with pytest.raises(ConfigError, match="has the layout") as caught:
            stranger.ask()
        assert "shelves" not in str(caught.value)
    after = {name: (head(record), record.revision) for name, record in store.records.items()}
    assert after == before


@pytest.mark.parametrize("how", ["made again with another scheme", "put back", "lost"])
def test_what_becomes_of_the_first_shelf_is_noticed_on_each(store, how):
    """Members of one record read no other, and would grant what members of the shelves hold."""
    member, claim = on(store, 2)
    del store.records["orders"]
    if how == "made again with another scheme":
        other = store.member(1, identity="other", layout=OTHER)
        assert isinstance(other.ask(), Wait)
        with pytest.raises(ConfigError, match="has the layout"):
            member.go_on(claim, 1)
        return
    if how == "put back":
        store.records["orders"] = Record(PackedSlots(), "before", "1", member.terms.fingerprint)
    assert isinstance(member.go_on(claim, 1), Lost)
    assert len({head(record) for record in store.records.values()}) == 1


def test_a_namespace_is_not_new_if_only_its_first_shelf_is_missing(store):
    del store.records["orders"]
    for member in (store.member(), store.member(1), store.member(1, identity="o", layout=OTHER)):
        with pytest.raises(ConfigError, match="already has a record"):
            member.tell(member.initialise, 0)
    assert "orders" not in store.records


def test_a_step_back_of_the_clock_is_known_to_the_members_of_all_shelves(store):
    (early, early_claim), (other, claim) = on(store, 0), on(store, 1)
    store.ms += 500
    store.behind = -40 * HORIZON_MS
    early_claim = early.ask(HORIZON_MS)
    store.behind = 0
    early.go_on(early_claim, 5)
    other.go_on(claim, 5)
    del store.records["orders"]
    store.incarnation += 1
    assert isinstance(other.go_on(claim, 5), Lost)
    (guard,) = {record.guard for record in store.records.values()}
    assert guard >= early_claim.until


def test_a_clock_that_only_a_quiet_shelf_finds_wrong_refuses_nobody(store):
    """A member's clock is a witness of a step of the store's, and not needed without one."""
    store.ms += 120_000
    busy, claim = on(store, 1)
    store.ms += 1000
    busy.go_on(claim)
    for shelf in range(SHELVES):
        member = store.member()
        ask = VerbRequest(LastSeen(shelf=shelf), T0 + 40_000_000, f"{shelf:016x}", "me")
        assert isinstance(member.grant(ask, 10), Claim)


def test_how_many_shelves():
    def of(layout):
        return usual_count(terms_of(frazil.scheme(layout), 1_000_000))

    assert [of(f"time:41 node:{bits} @1ms since 2025-01-01") for bits in (8, 9, 10, 16)] == [
        1, 2, 4, 64,
    ]  # fmt: skip
    assert of("time:41 @1ms since 2025-01-01") == 1
    assert of("run:20 node:10") == 1
    assert of("sequence:40 node:10") == 1
    every = [n for shelf in range(3) for n in share(counted(TERMS, 3), shelf, 3).slots]
    assert every == list(range(32))


slots = st.dictionaries(
    st.integers(0, 47),
    st.builds(Slot, st.integers(5, 15), st.integers(0, 5), st.sampled_from(["", "f" * 16])),
)


ticks = st.integers(0, 20)


@given(slots, st.integers(1, 7), ticks, ticks, st.integers(0, 2), ticks)
def test_slots_on_shelves_are_those_of_one_table(held, count, now, guard, deployment, late_from):
    """Three deployments of 16 node numbers share the record."""
    one = SlotTable(held)
    parts = ShelvedSlots([SlotTable() for _ in range(count)], 16)
    for n, slot in held.items():
        parts.put(n, slot)
    among = range(16 * deployment, 16 * deployment + 16)
    assert list(parts.stored()) == list(one.stored())
    asked = now, guard, among, late_from
    assert parts.best_free(*asked) == one.best_free(*asked)
    assert parts.lowest_floor(now, guard, among) == one.lowest_floor(now, guard, among)
    assert [parts.get(n) for n in range(48)] == [one.get(n) for n in range(48)]
    one.void_tokens(), parts.void_tokens()
    assert list(parts.stored()) == list(one.stored())


def test_the_past_is_declared_for_all_shelves(store):
    tick = TERMS.tick_at(T0)
    member = store.member()
    with pytest.raises(ConfigError, match="declare-past-from"):
        member.tell(member.claim_past, (5, tick))
    assert isinstance(member.tell(member.declare_past, 3), LastSeen)
    store.steps.clear()
    others = [store.member(count) for count in (SHELVES, 1, 8)]
    pasts = [other.tell(other.claim_past, (5, tick)) for other in others]
    assert len({past.slot for past in pasts}) == 3
    assert all((past.start, past.until, past.token) == (5, tick, "") for past in pasts)
    assert store.member().look().past_from == 3
    store.steps.clear()
    for shelf in range(SHELVES):
        other, claim = on(store, shelf)
        other.go_on(claim, 5)
    assert set(store.steps) == {1}


def test_a_loss_on_one_shelf_makes_the_past_of_all_unknown(store):
    tick = TERMS.tick_at(T0)
    member = store.member()
    member.tell(member.declare_past, 3)
    del store.records["orders\x1f2"]
    assert isinstance(member.tell(member.claim_past, (5, tick)), Wait)
    store.ms += WAIT_MS
    member.ask()
    with pytest.raises(ConfigError, match="declare-past-from"):
        member.tell(member.claim_past, (5, tick))
    assert member.look().past_from is None
