"""Several records of one namespace in one store, and what members of them remember."""

import random
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace

import pytest

import frazil
from frazil.claims.claim import VISITOR, Claim, LastSeen, Lost, VerbRequest, Wait
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries import connect, shelves
from frazil.registries.base import NoShelf, RecordRegistry, head_of, terms_of
from frazil.registries.shelves import ShelvedRegistry
from tests.servers import mariadb, postgres, zookeeper
from tests.tools.verbs import begin, grant, mint, new, release, renew

SCHEME = frazil.scheme("time:41 node:5 sequence:2 @1ms since 2025-01-01")
HORIZON_MS = 1000
TERMS = terms_of(SCHEME, HORIZON_MS * 1000)
T0 = 1_800_000_000_000_000


class Store:
    """Records, a clock, and what tells a loss. ms: true time; behind: of the store's clock."""

    def __init__(self):
        self.records, self.incarnation, self.ms, self.behind, self.steps = {}, 1, 0, 0, 0

    def registry(self, count=4):
        made = ShelvedRegistry(TERMS, lambda terms, shelf: Kept(self, terms, shelf), count)
        made._at = 0
        return made

    def fail_over(self, behind):
        """To a successor that missed all claims, but has the records."""
        self.records, self.behind = deepcopy(self.early), behind
        self.incarnation += 1

    def keep(self):
        self.early = deepcopy(self.records)

    def holder(self, shelf):
        """A member that keeps asking one shelf."""
        member = self.registry()
        member._at = shelf
        return member


class Kept(RecordRegistry):
    """A registry of one record in memory, which any member may ask."""

    def __init__(self, store, terms, shelf):
        super().__init__("store:", "orders", terms, shelf)
        self.store = store

    def reading_us(self):
        self.read_ns = 0
        return T0 + (self.store.ms - self.store.behind) * 1000

    @contextmanager
    def step(self):
        self.store.steps += 1
        record = deepcopy(self.store.records.get(self.key)) or Record(PackedSlots())
        yield record, str(self.store.incarnation)
        self.store.records[self.key] = record

    def make_shelves(self, parts, make):
        records = self.store.records
        heads = [head_of(records.get(part.key, Record(PackedSlots()))) for part in parts]
        made = make(heads, self.reading_us(), str(self.store.incarnation))
        records.update({parts[number].key: record for number, record in made.items()})


@pytest.fixture
def store(monkeypatch):
    made = Store()
    monkeypatch.setattr("frazil.registries.composed.boot_ns", lambda: made.ms * 1_000_000)
    return made


def ask(store, claim=None, **how):
    """A request of a member whose clock is right."""
    token = f"{random.getrandbits(64):016x}"
    now_us = T0 + (store.ms - store.behind) * 1000
    return VerbRequest(LastSeen(), now_us, token, "me", claim, store.ms * 1000, **how)


def until_granted(store, member, shelf=None):
    def asked():
        if shelf is None:
            return member.grant(ask(store), HORIZON_MS)
        return member._after_wait(shelf, lambda part, told: part.grant(told, 500), ask(store))

    while not isinstance(reply := asked(), Claim):
        store.ms += reply.wait_us // 1000 + 1
    return reply


def test_all_numbers_are_found_and_then_shared(store):
    members = [store.registry() for _ in range(32)]
    members[0].initialise(ask(store), 0)
    claims = [member.grant(ask(store), 10_000) for member in members]
    assert sorted(claim.slot for claim in claims) == list(range(32))
    for member, claim in zip(members, claims, strict=True):
        assert isinstance(member.renew(ask(store, claim), claim.until), Claim)
    before = store.steps
    reply = store.registry().grant(ask(store), 10_000)
    assert isinstance(reply, Wait)
    assert not reply.guarded
    assert store.steps - before == 5  # each shelf, and one more
    store.ms += reply.wait_us // 1000 + 1
    shared = store.registry().grant(ask(store), 10)
    last = next(claim for claim in claims if claim.slot == shared.slot)
    assert shared.start >= last.until


def test_a_member_asks_one_shelf_of_many(store):
    store.registry().initialise(ask(store), 0)
    before = store.steps
    for _ in range(10):
        member = store.registry()
        claim = member.grant(ask(store), 10)
        claim = member.renew(ask(store, claim), claim.until + 5)
        assert isinstance(member.release(ask(store, claim), claim.start), LastSeen)
    assert store.steps - before == 30


def test_a_claim_is_of_the_shelf_that_granted_it(store):
    member = store.registry()
    member.initialise(ask(store), 0)
    claim = member.grant(ask(store), 10)
    for shelf, part in enumerate(member.parts):
        mine = claim.slot in part.terms.slots
        assert (shelf == claim.slot // 8) is mine
        assert isinstance(part.renew(ask(store, claim), claim.until + 1), Claim if mine else Lost)


def test_a_lost_shelf_is_made_again_with_a_guard(store):
    members = [store.holder(shelf) for shelf in range(4)]
    members[0].initialise(ask(store), 0)
    claims = [member.grant(ask(store), HORIZON_MS) for member in members]
    del store.records["orders\x1f2"]
    newcomer = store.holder(2)
    assert newcomer.grant(ask(store), 10).slot // 8 != 2  # the others are as before
    assert isinstance(members[1].renew(ask(store, claims[1]), claims[1].until), Claim)
    assert isinstance(members[2].renew(ask(store, claims[2]), claims[2].until), Lost)
    assert store.records["orders\x1f2"].guard > claims[2].until


@pytest.mark.parametrize("there", [1, 2, 8])
@pytest.mark.parametrize("lost", [None, 0, 1])
def test_a_member_that_counts_otherwise_follows(store, there, lost):
    """A shelf that it expects, and that was never there, is not made."""
    store.registry(there).initialise(ask(store), 0)
    names = set(store.records)
    if lost is not None and lost < there > 1:
        del store.records[f"orders\x1f{lost}" if lost else "orders"]
    for shelf in range(4):
        member = store.holder(shelf)
        until_granted(store, member)
        assert len(member.parts) == there
    assert set(store.records) <= names
    stranger = store.registry()
    assert len(stranger.look().holdings) == 4
    assert len(stranger.parts) == there


def test_a_namespace_with_a_shelf_is_not_new(store):
    store.registry().initialise(ask(store), 0)
    for shelf in (0, 1, 3):
        del store.records[f"orders\x1f{shelf}" if shelf else "orders"]
    with pytest.raises(ConfigError, match="already has a record"):
        store.registry().initialise(ask(store), 0)


def test_a_new_namespace_waits_once(store):
    member = store.registry()
    assert member.grant(ask(store), 10).guarded
    assert len({record.sid for record in store.records.values()}) == 1
    until_granted(store, member)
    waited_ms = store.ms
    for shelf in range(4):
        member._at = shelf
        assert isinstance(member.grant(ask(store), 10), Claim)
    assert store.ms == waited_ms


@pytest.mark.parametrize("visits", [True, False])
def test_a_visitor_is_no_loss(store, visits):
    """What a member remembers of one shelf, told to another as its own, would void its claims."""
    member, other = store.holder(0), store.holder(1)
    member.initialise(ask(store), 0)
    del store.records["orders\x1f1"]
    assert isinstance(other.grant(ask(store), 10), Claim)  # and the second shelf is made again
    claim = until_granted(store, other, 1)
    assert claim.slot // 8 == 1
    store.ms += 5 * HORIZON_MS
    until_granted(store, member, 0)
    if not visits:
        member._memory[1] = member._latest
    member._ask(1, lambda part, told: part.grant(told, 10), ask(store))
    assert store.records["orders\x1f1"].waits is not visits


def test_after_a_restart_only_the_first_members_wait(store):
    """The wait of the first shelf ends first, and the others are asked before the rest."""
    store.registry().initialise(ask(store), 0)
    store.incarnation += 1
    until_granted(store, store.holder(3))
    waited_ms = store.ms
    for shelf in (0, 1, 2, 3) * 6:
        assert isinstance(store.holder(shelf).grant(ask(store), 10), Claim)
    assert store.ms == waited_ms


@pytest.mark.parametrize("asked", ["grant", "renew"])
def test_a_holder_ends_no_wait_without_the_first_guard(store, asked):
    store.registry().initialise(ask(store), 0)
    holder = store.holder(1)
    claim = holder.grant(ask(store), HORIZON_MS)
    store.incarnation += 1
    assert isinstance(holder.renew(ask(store, claim), claim.until), Lost)
    store.ms += 2 * HORIZON_MS
    assert isinstance(store.holder(0).grant(ask(store), 10), Wait)
    store.records["orders"].guard = late = store.records["orders"].guard + 5000
    if asked == "renew":
        assert isinstance(holder.renew(ask(store, claim), claim.until), Lost)
        assert store.records["orders\x1f1"].waits
    assert holder.grant(ask(store), 10).guarded
    assert store.records["orders\x1f1"].guard == late


def test_a_first_shelf_that_cannot_be_told_is_told_later(store, monkeypatch):
    store.registry().initialise(ask(store), 0)
    store.keep()
    store.ms += 60_000
    holder = store.holder(1)
    claim = holder.grant(ask(store), HORIZON_MS)
    store.fail_over(behind=3 * HORIZON_MS)
    told = shelves._touch

    def away(*_):
        raise RegistryUnavailable("away", outcome_known=True)

    monkeypatch.setattr(shelves, "_touch", away)
    with pytest.raises(RegistryUnavailable):
        holder.renew(ask(store, claim), claim.until)
    monkeypatch.setattr(shelves, "_touch", told)
    assert isinstance(holder.renew(ask(store, claim), claim.until), Lost)
    assert store.records["orders"].guard > claim.until


@pytest.mark.parametrize("told", [True, False])
def test_a_loss_that_only_members_notice_is_one_of_all_shelves(store, told, monkeypatch):
    """As after a restored machine, which shows the same incarnation."""
    store.registry().initialise(ask(store), 0)
    store.keep()
    ended, holder = store.holder(2), store.holder(1)
    used = ended.grant(ask(store), HORIZON_MS)
    claim = holder.grant(ask(store), HORIZON_MS)
    store.records = deepcopy(store.early)
    if not told:
        monkeypatch.setattr(shelves, "_touch", lambda *_: None)
    assert isinstance(holder.renew(ask(store, claim), claim.until), Lost)
    assert all(record.waits for record in store.records.values()) is told
    granted = until_granted(store, store.holder(2), 2)
    assert (granted.start >= used.until) is told


@pytest.mark.parametrize("told", [True, False])
def test_a_shelf_whose_holders_ended_hears_of_the_lost_clock(store, told, monkeypatch):
    """By the first shelf, from a holder of a third one, before its own wait ends."""
    store.registry().initialise(ask(store), 0)
    store.keep()
    store.ms += 60_000
    ended, holder = store.holder(2), store.holder(1)
    used = ended.grant(ask(store), HORIZON_MS)
    claim = holder.grant(ask(store), HORIZON_MS)
    if not told:
        monkeypatch.setattr(shelves, "_touch", lambda *_: None)
    store.fail_over(behind=3 * HORIZON_MS)
    newcomer = store.holder(2)
    newcomer._memory.clear()
    assert newcomer.grant(ask(store), 10).guarded
    assert isinstance(holder.renew(ask(store, claim), claim.until), Lost)
    monkeypatch.setattr(newcomer, "_latest", LastSeen())
    granted = until_granted(store, newcomer, 2)
    assert granted.slot // 8 == 2
    assert (granted.start >= used.until) is told


def test_terms_that_differ_otherwise_are_an_error(store):
    store.registry().initialise(ask(store), 0)
    other = replace(
        TERMS, layout="time:41 node:5 sequence:3 @1ms since 2025-01-01", identity="other"
    )
    stranger = ShelvedRegistry(other, lambda terms, shelf: Kept(store, terms, shelf), 4)
    with pytest.raises(ConfigError, match="has the layout"):
        stranger.grant(ask(store), 10)


def test_only_one_step_makes_shelves(store):
    part = store.registry().parts[1]
    with pytest.raises(NoShelf):
        part.grant(ask(store), 1)
    assert VISITOR < 0


@pytest.fixture(scope="module", params=["postgresql", "mysql", "zookeeper"])
def url(request):
    start = {
        "postgresql": postgres.postgres,
        "mysql": mariadb.mariadb,
        "zookeeper": lambda: zookeeper.zookeeper(1),
    }
    with start[request.param]() as server:
        url = server.url if isinstance(server.url, str) else server.url()
        yield f"{url}{'&' if '?' in url else '?'}horizon=1s"


@pytest.fixture
def quarters(monkeypatch):
    """The default scheme has four shelves."""
    monkeypatch.setattr(shelves, "SHELF_SLOTS", 256)


@pytest.mark.usefixtures("quarters")
class TestStores:
    def test_a_life(self, url):
        registry = new(url, "life", frazil.scheme())
        assert len(registry.parts) == 4
        claim = renew(registry, grant(registry))
        assert [holding.slot for holding in registry.holdings()] == [claim.slot]
        assert isinstance(release(registry, claim, claim.start), LastSeen)
        with pytest.raises(ConfigError, match="already has a record"):
            begin(registry)
        found = connect(url, "life", frazil.scheme()).examine()
        assert ("shelves", "good", "4 records of this namespace", "") in found.facts

    def test_a_shelf_that_is_missing_is_made_by_one_step(self, url):
        """Two registries count 2 and 8 shelves; the first of them decides."""
        terms = connect(url, "counted", frazil.scheme()).terms
        store = connect(url, "counted", frazil.scheme())._store
        two, eight = (ShelvedRegistry(terms, store, count) for count in (2, 8))
        begin(two)
        eight._at = 7
        assert isinstance(grant(eight), Claim)
        assert len(eight.parts) == 2
        made = grant(two)
        assert isinstance(eight.renew(VerbRequest(made.seen, 0, "x", held=made), made.until), Claim)

    def test_members_that_begin_at_once(self, url):
        """They make the shelves of a namespace that is not set up, and wait once."""
        before = connect(url, "at once", frazil.scheme())
        before.prepare()
        with (
            frazil.open(url, namespace="at once") as one,
            frazil.open(url, namespace="at once") as other,
        ):
            ids = [*one.take(1000), *other.take(1000)]
        assert len(set(ids)) == 2000
        assert isinstance(mint(connect(url, "at once", frazil.scheme()), 1), Claim)
