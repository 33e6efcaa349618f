"""The wait after a loss: the traces of failovers that fewer rules would not survive."""

from copy import deepcopy

import pytest

from frazil.claims.claim import Claim, Lost, Wait
from frazil.errors import ConfigError
from tests.unit.registries.test_shelves import HORIZON_MS, T0, TERMS, WAIT_MS, Store

FIRST_TICK = TERMS.tick_at(T0)


@pytest.fixture
def store():
    made = Store()
    made.member(1).tell(made.member(1).initialise, 0)
    return made


def guard(store):
    return store.records["orders"].guard


def fail_over(store, records, behind=0):
    """To a successor with these records, whose clock is so many milliseconds behind."""
    store.records, store.behind = deepcopy(records), behind
    store.incarnation += 1


def until_granted(store, member):
    """Wait as a member is told to, for a claim."""
    for _ in range(1000):
        reply = member.ask(HORIZON_MS)
        if isinstance(reply, Claim):
            return reply
        store.ms += -(-reply.wait_us // 1000)
    raise AssertionError("never")


def lost_renewal(store, missed, behind):
    """A holder, and its claim, whose last renewal is lost; the primary fails at once."""
    holder = store.member(1)
    claim = holder.ask(HORIZON_MS)
    kept = deepcopy(store.records)
    store.ms += missed
    claim = holder.go_on(claim, 10 * HORIZON_MS)
    fail_over(store, kept, behind)
    return holder, claim


@pytest.mark.parametrize("behind", [0, 200, 600, 1200, 5000])
@pytest.mark.parametrize("first", ["newcomer", "old", "holder"])
@pytest.mark.parametrize("missed", [200, 600, 950])
def test_whoever_comes_first_nothing_is_given_twice(store, behind, first, missed):
    old = store.member(1)
    old.ask(10)
    holder, lost = lost_renewal(store, missed, behind)
    asker = {"newcomer": store.member(1), "old": old, "holder": holder}[first]
    asker.ask(HORIZON_MS)
    store.ms += HORIZON_MS // 2
    assert isinstance(holder.go_on(lost), Lost)
    assert until_granted(store, asker).start >= lost.until


def test_two_losses_with_a_lower_reply_between(store):
    """The first successor tells an earlier clock; then it is lost too, and its guard."""
    kept = deepcopy(store.records)
    holder, lost = lost_renewal(store, 900, 2000)
    assert isinstance(holder.go_on(lost), Lost)
    assert holder.seen.now_us < lost.now_us
    fail_over(store, kept, 2000)
    newcomer = store.member(1)
    newcomer.ask()
    store.ms += 100
    assert isinstance(holder.go_on(lost), Lost)
    assert until_granted(store, newcomer).start >= lost.until


def test_many_members_that_return_one_by_one_prolong_the_wait_by_nothing(store):
    """A higher revision of an older life is no loss."""
    members = [store.member(1) for _ in range(20)]
    kept = deepcopy(store.records)
    for member in members:
        member.ask(1)
    fail_over(store, kept)
    newcomer = store.member(1)
    newcomer.ask()
    since = store.ms
    returning = iter(members)
    while True:
        store.ms += 50
        if member := next(returning, None):
            member.ask(1)
        if isinstance(newcomer.ask(), Claim):
            break
    assert store.ms - since <= 1.2 * HORIZON_MS


def test_the_wait_ends_for_those_that_know_it_only(store):
    """A newcomer at its end does not know how long it lasts."""
    fail_over(store, {})
    first = store.member(1)
    first.ask()
    store.ms += WAIT_MS
    assert isinstance(store.member(1).ask(), Wait)
    assert isinstance(first.ask(), Claim)
    assert isinstance(store.member(1).ask(), Claim)


def test_a_clock_that_is_ahead_counts_until_it_is_passed(store):
    """Not at every later loss."""
    store.behind = -50_000
    member = store.member(1)
    member.ask()
    fail_over(store, {})
    member.ask()
    assert guard(store) > FIRST_TICK + 50_000
    until_granted(store, member)
    fail_over(store, {})
    member.ask()
    assert guard(store) <= FIRST_TICK + store.ms + 3 * HORIZON_MS


def test_a_holder_with_a_longer_horizon_is_heard_before_it_is_refused(store):
    """A member with a shorter one has made the record anew."""
    store.records = {}
    holder = store.member(1, horizon_ticks=3 * HORIZON_MS)
    holder.tell(holder.initialise, 0)
    claim = holder.ask(3 * HORIZON_MS)
    fail_over(store, {})
    store.member(1).ask()
    assert guard(store) < claim.until
    with pytest.raises(ConfigError, match="another horizon"):
        holder.go_on(claim)
    assert guard(store) >= claim.until
