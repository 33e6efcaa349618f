"""Registries with one rule broken each fail the kit, and in the checks that are about that rule.

Those whose rule is about claims stand in ``wrong``; here are those about counting, and the tests.
"""

from contextlib import contextmanager
from typing import ClassVar

import pytest

from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ClockError, ConfigError
from frazil_conformance import CHECKS, ConformanceError, check_registry
from tests.conformance.adapters import NO_SERVER, ManualRegistry, ManualStore
from tests.conformance.wrong import WRONG, wrong


@wrong("threads_never_meet")
class NotAtomic(ManualRegistry):
    """Reads, thinks, and writes, while others do the same."""

    @contextmanager
    def step(self):
        record = self.load()
        yield record, "manual/1"
        self.store.stumble()
        self.save(record)


@wrong("threads_never_meet", "older_copies_are_noticed")
class CountsNoWrites(Record):
    def begin_verb(self, *arguments):
        before = self.revision
        now_us = super().begin_verb(*arguments)
        self.revision = before
        return now_us


@wrong("pasts_are_declared_first")
class TakesNewForDeclared(ManualRegistry):
    """Takes it that a person said so, who only said that the namespace is new."""

    def initialise(self, ask, start):
        seen = super().initialise(ask, start)
        with self.step() as (record, _):
            if self.terms.timed:
                record.layout = f"{self.terms.layout} | past from 0"
        return seen


@wrong("pasts_end_a_holders_claim")
class KeepsTheTokenUnderAPast(ManualRegistry):
    """Gives the past of a slot, and leaves it to its holder."""

    def claim_past(self, ask, region):
        before = dict(self.load().slots.stored())
        reply = super().claim_past(ask, region)
        if isinstance(reply, Claim) and reply.slot in before:
            with self.step() as (record, _):
                record.slots.put(reply.slot, before[reply.slot]._replace(until=reply.until))
        return reply


@wrong("pasts_never_overlap", "full_pasts_are_told")
class GivesAPastTwice(ManualRegistry):
    """Lets the past of a slot begin where it is asked to."""

    def claim_past(self, ask, region):
        slots = self.load().slots
        reply = super().claim_past(ask, region)
        with self.step() as (record, _):
            record.slots = slots
        return reply


@wrong("losses_make_the_past_unknown")
class RemembersAWordThroughALoss(Record):
    def _set_identity(self, terms, *arguments):
        declared = self.layout.removeprefix(terms.layout)
        super()._set_identity(terms, *arguments)
        self.layout += declared


@wrong("pasts_end_by_now")
class GivesTheFuture(ManualRegistry):
    def claim_past(self, ask, region):
        try:
            return super().claim_past(ask, region)
        except ConfigError:
            with self.step() as (record, _):
                record.slots.put(0, Slot(max(region), 0))
                return Claim(
                    0, min(region), max(region), "", record.top_us, record.seen(self.terms, 0)
                )


@wrong("older_copies_are_noticed_until_written")
class NoticesOnce(Record):
    """Forgets that a member remembers more, once it was told so."""

    heard: ClassVar[set[LastSeen]] = set()

    def begin_verb(self, terms, ask, *rest):
        if ask.seen in self.heard:
            ask = ask._replace(seen=LastSeen())
        self.heard.add(ask.seen)
        return super().begin_verb(terms, ask, *rest)


@wrong("first_readings_take_a_witness", "lost_states_are_noticed_until_written")
class NoticesALossOnce(ManualRegistry):
    """Writes that it noticed a loss, but not the consequences."""

    def perform(self, verb):
        try:
            return super().perform(verb)
        except ClockError:
            seen = Record(SlotTable(), "seen", "manual/1", self.terms.fingerprint)
            self.store.records.setdefault(self.namespace, seen)
            raise


@wrong("initialising_is_done_once")
class InitialisesAgain(Record):
    def initialise(self, *arguments):
        self.sid, self.slots = "", type(self.slots)()
        return super().initialise(*arguments)


@wrong("mint_leaves_no_token", "counters_begin_where_told")
class MintKeepsTheToken(Record):
    def mint(self, *arguments):
        return self.grant(*arguments)


@wrong("grants_fit_best")
class WorstFit(Record):
    """Takes an untouched slot first."""

    def _choose(self, terms, now):
        return self.slots.lowest_floor(now, self.guard, terms.slots)


@wrong("grants_fit_best")
class TakesFromTheLate(Record):
    """Takes the slot of a member that may only be late, although others are free."""

    def _choose(self, terms, now):
        free = self.slots.best_free(now, self.guard, terms.slots, now)
        return super()._choose(terms, now) if free is None else free


@wrong("full_pools_are_shared", "sixty_four_contenders_are_all_served")
class NeverShares(Record):
    """A slot that is held is its holder's until that is over."""

    def grant(self, terms, ask, reading_us, incarnation, want):
        before = dict(self.slots)
        reply = super().grant(terms, ask, reading_us, incarnation, want)
        if terms.timed and isinstance(reply, Claim):
            ahead = reply.start - max(terms.tick_at(reply.now_us), self.guard)
            if ahead > 0:
                self.slots.clear()
                self.slots.update(before)
                return Wait(ahead * terms.tick_us, reply.seen)
        return reply


@wrong("waits_are_long_enough", "members_remember_the_reach", "members_continue_the_clock")
class WaitsTooShort(Record):
    def grant(self, *arguments):
        reply = super().grant(*arguments)
        return reply if isinstance(reply, Claim) else reply._replace(wait_us=1)


@wrong(
    "replies_repeat_the_question", "lost_replies_waste_and_no_more", "repeated_requests_do_no_harm"
)
class ForgetsWhoAsked(Record):
    """Answers every grant with a token of its own."""

    def grant(self, terms, ask, *rest):
        return super().grant(terms, ask._replace(token=f"own {self.revision}"), *rest)


@wrong("holdings_tell_who_holds_what")
class NamesNoHolder(Record):
    def grant(self, terms, ask, *rest):
        return super().grant(terms, ask._replace(holder=""), *rest)


@wrong("missing_counters_are_errors")
class CountsFromZero(Record):
    """A counter that is not there begins at zero."""

    def _refuse_loss(self, ask, incarnation):
        if not self.sid:
            self.sid, self.incarnation = ask.token, incarnation


@wrong("older_counters_are_refused")
class CountsOnFromAnOlderCopy(Record):
    def _refuse_loss(self, ask, incarnation):
        if self.sid:
            ask = ask._replace(seen=LastSeen())
        super()._refuse_loss(ask, incarnation)


@wrong("counters_are_not_older_than_their_last_start")
class TellsNoStart(Record):
    """Only values that were granted show that a counter is an earlier one."""

    def seen(self, terms, now_us):
        return super().seen(terms, now_us)._replace(reach=1)


@wrong("lost_counters_are_errors", "older_counters_stay_refused")
class ForgetsItsMembers(Record):
    """A member of the lost counter never continues."""

    def _refuse_loss(self, ask, incarnation):
        super()._refuse_loss(ask._replace(seen=ask.seen._replace(reach=0)), incarnation)


@wrong("lost_counters_start_beyond_all_that_is_known")
class KeepsWhatMembersKnow(Record):
    """A member that knows more than a counter is refused, and nobody else."""

    def _refuse_loss(self, ask, incarnation):
        if ask.seen.sid in ("", self.sid) or 0 < ask.seen.reach <= self.guard:
            return super()._refuse_loss(ask, incarnation)
        raise ConfigError("frazil init --forward")


@wrong("counters_begin_where_told", "counters_give_back_the_rest")
class CountsFromWhereItLikes(Record):
    def initialise(self, terms, ask, reading_us, incarnation, start):
        start = None if start is None else 0
        return super().initialise(terms, ask, reading_us, incarnation, start)


@wrong("counters_move_forward_only")
class CountsBack(Record):
    def _advance_counter(self, start):
        """Goes anywhere."""


@wrong("counters_end")
class CountsPastTheEnd(Record):
    def grant(self, terms, *rest):
        return super().grant(terms if terms.timed else terms._replace(end=1 << 62), *rest)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_registry_fails_where_it_is_wrong(name):
    registry, checks = WRONG[name]
    with pytest.raises(ConformanceError) as caught:
        check_registry(ManualStore(registry), only=checks)
    assert caught.value.report.names("failed") == checks, str(caught.value)


def test_every_check_can_fail():
    """Those that take a server are seen to fail with servers, if they are."""
    everything = {check.__name__ for check in CHECKS}
    assert set().union(*(checks for _, checks in WRONG.values())) == everything - NO_SERVER
