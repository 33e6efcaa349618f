"""The wait after a loss: the traces of failovers that fewer rules would not survive."""

from copy import deepcopy
from dataclasses import dataclass, field

import pytest

from frazil.claims.claim import Claim, LastSeen, Lost, VerbRequest, Wait
from frazil.claims.record import Record
from frazil.errors import ConfigError
from tests.unit.claims.test_record import NOW, T0, TERMS

HORIZON = TERMS.horizon_ticks
WAIT = TERMS.wait_ticks


@dataclass
class Member:
    """A member with a memory."""

    stores: "Stores"
    seen: LastSeen = field(default_factory=LastSeen)
    claim: Claim | None = None

    def send(self, verb, value, held=None, terms=TERMS):
        stores = self.stores
        stores.requests += 1
        token = f"token{stores.requests}"
        reading_us = T0 + (stores.ms - stores.behind) * 1000
        ask = VerbRequest(self.seen, reading_us, token, "me", held, stores.ms * 1000)
        call = getattr(stores.record, verb)
        reply = call(terms, ask, reading_us, str(stores.incarnation), value)
        self.seen = ask.memory(reply, stores.ms * 1000, terms)
        return reply

    def grant(self, want=HORIZON):
        reply = self.send("grant", want)
        if isinstance(reply, Claim):
            self.claim = reply
        return reply

    def renew(self):
        reply = self.send("renew", NOW + 10 * HORIZON, self.claim)
        if isinstance(reply, Claim):
            self.claim = reply
        return reply


class Stores:
    """A primary and its successors. ms: true time."""

    def __init__(self):
        self.ms = self.behind = self.incarnation = self.requests = 0
        self.record = Record()
        Member(self).send("initialise", 0)

    def fail_over(self, record, behind):
        self.record, self.behind = deepcopy(record), behind
        self.incarnation += 1

    def until_granted(self, member, report=lambda: None):
        """Wait as a member is told to, for a claim; others report meanwhile."""
        for _ in range(1000):
            reply = member.grant()
            if isinstance(reply, Claim):
                return reply
            self.ms += -(-reply.wait_us // 1000)
            report()
        raise AssertionError("never")


@pytest.fixture
def stores():
    return Stores()


def lost_renewal(stores, missed, behind):
    """A holder whose last renewal is lost; the primary fails at once."""
    holder = Member(stores)
    holder.grant()
    copy = deepcopy(stores.record)
    stores.ms += missed
    holder.renew()
    stores.fail_over(copy, behind)
    return holder


@pytest.mark.parametrize("behind", [0, 20, 60, 120, 500])
@pytest.mark.parametrize("first", ["newcomer", "old", "holder"])
@pytest.mark.parametrize("missed", [20, 60, 95])
def test_whoever_comes_first_nothing_is_given_twice(stores, behind, first, missed):
    old = Member(stores)
    old.grant(10)
    holder = lost_renewal(stores, missed, behind)
    lost, newcomer = holder.claim, Member(stores)
    asker = {"newcomer": newcomer, "old": old, "holder": holder}[first]
    asker.grant()
    stores.ms += HORIZON // 2
    assert isinstance(holder.renew(), Lost)
    assert stores.until_granted(asker).start >= lost.until


def test_two_losses_with_a_lower_reply_between(stores):
    """The first successor tells an earlier clock; then it is lost too, and its guard."""
    copy = deepcopy(stores.record)
    holder = lost_renewal(stores, 90, 200)
    assert isinstance(holder.renew(), Lost)
    assert holder.seen.now_us < holder.claim.now_us
    stores.fail_over(copy, 200)
    newcomer = Member(stores)
    newcomer.grant()
    stores.ms += 10
    assert isinstance(holder.renew(), Lost)
    assert stores.until_granted(newcomer).start >= holder.claim.until


def test_many_members_that_return_one_by_one_prolong_the_wait_by_nothing(stores):
    """A higher revision of an older life is no loss."""
    members = [Member(stores) for _ in range(20)]
    copy = deepcopy(stores.record)
    for member in members:
        member.grant(1)
    stores.fail_over(copy, 0)
    newcomer = Member(stores)
    newcomer.grant()
    since = stores.ms
    returning = iter(members)
    while True:
        stores.ms += 5
        if member := next(returning, None):
            member.grant(1)
        if isinstance(newcomer.grant(), Claim):
            break
    assert stores.ms - since <= 1.2 * HORIZON


def test_the_wait_ends_for_those_that_know_it_only(stores):
    """A newcomer at its end does not know how long it lasts."""
    stores.fail_over(Record(), 0)
    first = Member(stores)
    first.grant()
    stores.ms += WAIT
    assert isinstance(Member(stores).grant(), Wait)
    assert isinstance(first.grant(), Claim)
    assert isinstance(Member(stores).grant(), Claim)


def test_a_clock_an_hour_ahead_counts_until_it_is_passed(stores):
    """Not at every later loss."""
    stores.behind = -3_600_000
    member = Member(stores)
    member.grant()
    stores.fail_over(Record(), 0)
    member.grant()
    assert stores.record.guard > NOW + 3_600_000
    stores.until_granted(member)
    stores.fail_over(Record(), 0)
    member.grant()
    assert stores.record.guard <= NOW + stores.ms + 3 * HORIZON


def test_a_holder_with_a_longer_horizon_is_heard_before_it_is_refused(stores):
    """A member with a shorter one has made the record anew."""
    longer = TERMS._replace(horizon_ticks=3 * HORIZON)
    stores.record = Record()
    holder, newcomer = Member(stores), Member(stores)
    holder.send("initialise", 0, terms=longer)
    claim = holder.send("grant", 3 * HORIZON, terms=longer)
    stores.fail_over(Record(), 0)
    newcomer.grant()
    assert stores.record.guard < claim.until
    with pytest.raises(ConfigError, match="another horizon"):
        holder.send("renew", claim.until, claim, longer)
    assert stores.record.guard >= claim.until
