"""Registries with one rule of claims broken each, and the checks that they must fail."""

from contextlib import contextmanager

from frazil.claims.claim import Claim, LastSeen, Lost, VerbRequest
from frazil.claims.record import WAITS, Record
from frazil.claims.slots import Slot
from frazil.errors import ConfigError
from tests.conformance.adapters import ManualRegistry

WRONG = {}


def wrong(*checks):
    """A registry, or the record of one, and the checks that it must fail."""

    def add(kind):
        if issubclass(kind, Record):
            name = kind.__name__
            registry = type(name, (ManualRegistry,), {"record_type": kind})
        else:
            registry = kind
        WRONG[kind.__name__] = registry, frozenset(checks)
        return kind

    return add


@wrong("claims_never_overlap", "grants_fit_best", "counter_blocks_never_overlap")
class NoFloor(Record):
    """Gives from now on, whatever was given before."""

    def floor(self, n):
        return self.guard


@wrong("renewal_takes_the_token", "older_copies_are_noticed_until_written")
class NoTokenForRenewal(Record):
    def renew(self, terms, ask, reading_us, incarnation, until):
        ask = _with_the_token_of_the_slot(self, ask)
        return super().renew(terms, ask, reading_us, incarnation, until)


@wrong("claims_never_overlap", "release_takes_the_token")
class NoTokenForRelease(Record):
    def release(self, terms, ask, reading_us, incarnation, used):
        ask = _with_the_token_of_the_slot(self, ask)
        return super().release(terms, ask, reading_us, incarnation, used)


def _with_the_token_of_the_slot(record, ask: VerbRequest) -> VerbRequest:
    token = record.slots.get(ask.held.slot).token
    return ask._replace(held=ask.held._replace(token=token)) if token else ask


@wrong("renewal_takes_the_until", "older_copies_are_noticed_until_written")
class NoUntilForRenewal(Record):
    def renew(self, terms, ask, reading_us, incarnation, until):
        right = self.slots.get(ask.held.slot).until
        if ask.held.until < right:
            ask = ask._replace(held=ask.held._replace(until=right))
        return super().renew(terms, ask, reading_us, incarnation, until)


@wrong("release_stays_inside_the_claim")
class ReleasesTooMuch(Record):
    """Takes back whatever it is told to."""

    def release(self, terms, ask, reading_us, incarnation, used):
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        held, slot = self._held(ask)
        if slot is None:
            return Lost(self.seen(terms, now_us))
        self.slots.put(held.slot, Slot(used, min(used, slot.start)))
        return self.seen(terms, now_us)


@wrong("release_gives_back_the_rest")
class KeepsTheTokenOfAReleasedSlot(Record):
    def release(self, terms, ask, reading_us, incarnation, used):
        reply = super().release(terms, ask, reading_us, incarnation, used)
        if isinstance(reply, LastSeen):
            held = ask.held
            self.slots.put(held.slot, Slot(used, held.start, held.token, ask.holder))
        return reply


@wrong(
    "losses_while_the_clock_is_absorbed",
    "losses_with_an_earlier_clock",
    "late_members_close_nothing",
)
class NoGuard(Record):
    """Notices a loss, voids the tokens, and waits for nothing."""

    def begin_verb(self, *arguments):
        guard = self.guard
        now_us = super().begin_verb(*arguments)
        self.guard = guard
        return now_us


@wrong("first_uses_wait_a_horizon", "losses_are_waited_out", "initialising_without_knowing_waits")
class FirstUseAtOnce(Record):
    """Takes a record that is not there for one that never was."""

    def begin_verb(self, *arguments):
        new = not self.sid
        now_us = super().begin_verb(*arguments)
        if new and arguments[0].timed:
            self.guard, self.sid = 0, self.sid.removeprefix(WAITS)
        return now_us


@wrong("losses_with_an_earlier_clock", "members_remember_the_reach", "members_continue_the_clock")
class DeafInTheWait(Record):
    def _heed(self, *arguments):
        guard = self.guard
        super()._heed(*arguments)
        self.guard = guard


@wrong("waits_outlast_a_corrected_clock")
class WaitsByTheStoresClock(Record):
    def rest_ticks(self, terms, ask, now):
        return self.guard - now


@wrong(
    "members_remember_the_revision",
    "older_copies_are_noticed",
    "older_copies_are_noticed_until_written",
)
class TokensOutliveALoss(Record):
    def begin_verb(self, *arguments):
        before = list(self.slots.stored())
        now_us = super().begin_verb(*arguments)
        for n, slot in before:
            self.slots.put(n, slot)
        return now_us


@wrong("members_remember_the_revision", "older_copies_are_noticed", "older_counters_are_refused")
class DeafToTheRevision(Record):
    def begin_verb(self, terms, ask, *rest):
        return super().begin_verb(terms, ask._replace(seen=ask.seen._replace(revision=0)), *rest)


@wrong("members_remember_what_they_hold", "lost_claims_are_not_given_back")
class DeafToTheUntil(Record):
    def _is_loss(self, terms, ask, incarnation):
        return super()._is_loss(terms, ask._replace(held=None), incarnation)


@wrong("members_remember_the_clock", "members_continue_the_clock")
class DeafToTheClock(Record):
    def begin_verb(self, terms, ask, *rest):
        return super().begin_verb(terms, ask._replace(seen=ask.seen._replace(now_us=0)), *rest)


@wrong("members_remember_the_reach")
class DeafToTheReach(Record):
    def _heed(self, terms, ask, now_us):
        super()._heed(terms, ask._replace(seen=ask.seen._replace(reach=0)), now_us)


@wrong("members_continue_the_clock")
class TakesTheClockAsItWas(Record):
    def begin_verb(self, terms, ask, *rest):
        stopped = ask.seen._replace(sent_us=ask.boot_us)
        return super().begin_verb(terms, ask._replace(seen=stopped), *rest)


@wrong("late_members_close_nothing")
class ComparesEveryRevision(Record):
    def _is_loss(self, terms, ask, incarnation):
        later = self.sid and ask.seen.revision > self.revision
        return bool(later) or super()._is_loss(terms, ask, incarnation)


@wrong("lost_claims_are_not_given_back")
class VoidedIsGivenBack(Record):
    def begin_verb(self, *arguments):
        before, sid = dict(self.slots), self.sid
        now_us = super().begin_verb(*arguments)
        if self._life != sid.removeprefix(WAITS):
            for n, slot in before.items():
                self.slots.put(n, Slot(slot.until, slot.start))
        return now_us


@wrong("nothing_is_given_beyond_the_horizon", "sixty_four_contenders_are_all_served")
class GrantsBeyondTheHorizon(Record):
    def grant(self, terms, ask, reading_us, incarnation, want):
        reply = super().grant(terms, ask, reading_us, incarnation, want)
        if isinstance(reply, Claim) and terms.timed:
            reply = reply._replace(until=reply.start + want)
            self.slots.put(reply.slot, self.slots.get(reply.slot)._replace(until=reply.until))
        return reply


@wrong("nothing_is_given_beyond_the_horizon")
class RenewsBeyondTheHorizon(Record):
    def renew(self, terms, ask, reading_us, incarnation, until):
        reply = super().renew(terms, ask, reading_us, incarnation, until)
        if isinstance(reply, Claim) and terms.timed:
            self.slots.put(reply.slot, self.slots.get(reply.slot)._replace(until=until))
            reply = reply._replace(until=until)
        return reply


@wrong("first_readings_take_a_witness", "steps_forward_take_a_witness")
class NoWitness(Record):
    def _read_clock(self, terms, ask, reading_us):
        return super()._read_clock(terms, ask._replace(witness_us=reading_us), reading_us)


@wrong("strangers_are_refused", "missing_counters_are_errors")
class WritesBeforeItRefuses(ManualRegistry):
    """Keeps the changes of a verb that raised."""

    @contextmanager
    def step(self):
        with self.store.lock:
            record = self.load()
            try:
                yield record, "manual/1"
            except Exception:
                record.sid = record.sid or "made by a refusal"
                record.revision += 1
                raise
            finally:
                self.save(record)


@wrong("steps_back_are_absorbed")
class ClockGoesBack(Record):
    """Takes every reading as it comes."""

    def _read_clock(self, terms, ask, reading_us):
        now_us = super()._read_clock(terms, ask, reading_us)
        self.offset_us = 0
        return reading_us if terms.timed else now_us


@wrong("losses_while_the_clock_is_absorbed", "steps_back_are_absorbed")
class StepBackIsAnOutage(Record):
    """Waits until a clock that went back has caught up."""

    def _read_clock(self, terms, ask, reading_us):
        if reading_us < self.last_us:
            raise ConfigError("the clock went back; wait until it has caught up")
        return super()._read_clock(terms, ask, reading_us)


@wrong("nothing_is_given_beyond_the_horizon", "now_never_goes_back", "steps_back_are_absorbed")
class ClockWobbles(Record):
    """Tells every other member an earlier time than the one before."""

    def _read_clock(self, terms, ask, reading_us):
        return super()._read_clock(terms, ask, reading_us) - 7000 * (self.revision % 2)


@wrong("mint_leaves_no_token", "initialising_spares_the_wait")
class WaitsEvenIfNew(Record):
    def initialise(self, terms, ask, reading_us, *rest):
        reply = super().initialise(terms, ask, reading_us, *rest)
        if terms.timed:
            self.guard = terms.tick_at(reading_us) + terms.horizon_ticks
        return reply


@wrong(
    "renewal_may_be_late", "steps_forward_take_a_witness", "older_copies_are_noticed_until_written"
)
class RefusesLateRenewals(Record):
    def renew(self, terms, ask, reading_us, incarnation, until):
        if terms.timed and ask.held.until < terms.tick_at(reading_us):
            return Lost(self.seen(terms, reading_us))
        return super().renew(terms, ask, reading_us, incarnation, until)


@wrong("strangers_are_refused")
class TakesStrangers(Record):
    def begin_verb(self, terms, *rest):
        self.fingerprint = terms.fingerprint if self.sid else self.fingerprint
        return super().begin_verb(terms, *rest)


@wrong("strangers_are_refused", "constants_have_slots_of_their_own")
class RefusesOtherConstants(ManualRegistry):
    def __init__(self, store, namespace, scheme):
        super().__init__(store, namespace, scheme)
        self.terms = self.terms._replace(identity=self.terms.layout)


@wrong("members_share_one_record", "grants_begin_at_the_floor_or_now")
class TwoRecords(ManualRegistry):
    """Every other registry object of a namespace has a record of its own."""

    def __init__(self, store, namespace, scheme):
        super().__init__(store, namespace, scheme)
        store.objects += 1
        self.namespace = f"{namespace} {store.objects % 2}"


@wrong("namespaces_are_apart", "members_remember_the_clock", "counters_begin_where_told")
class OneRecordForSeveral(ManualRegistry):
    """Names namespaces by their first letters."""

    def __init__(self, store, namespace, scheme):
        name, _, rest = namespace.partition("-")
        super().__init__(store, f"{name}-{rest[:12]}", scheme)
