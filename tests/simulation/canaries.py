"""The code under test with one rule broken: each must be caught by the simulator."""

from evidence.simulator import Parts
from evidence.simulator.network import SimulatedRegistry
from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.claims.record import Record
from frazil.claims.slots import Slot
from frazil.generator.timed_policy import TimedPolicy
from tests.conformance import wrong
from tests.unit.walk.test_walk import interpreted


class ShortGuard(Record):
    """The guard is set to now, without the horizon."""

    def begin_verb(self, terms, *arguments):
        guard = self.guard
        now_us = super().begin_verb(terms, *arguments)
        if self.guard > guard:
            self.guard = max(guard, self.guard - terms.horizon_ticks)
        return now_us


class LossUnnoticed(Record):
    """Only a loss of all data is noticed."""

    def _is_loss(self, terms, ask, incarnation):
        return not self.sid


class NoMemory(Record):
    """The members' memory is ignored."""

    def begin_verb(self, terms, ask, *arguments):
        return super().begin_verb(terms, ask._replace(seen=LastSeen(), held=None), *arguments)


class HorizonOff(Record):
    """One tick beyond the horizon is given."""

    def _bound(self, terms, now, start):
        return super()._bound(terms, now, start) + 1


class NoToken(Record):
    """Any member can renew and release a claim."""

    def _held(self, ask):
        slot = self.slots.get(ask.held.slot)
        return ask.held, slot._replace(until=ask.held.until, start=0)


class RenewsWithoutToken(Record):
    """A renewal checks no token."""

    def renew(self, terms, ask, reading_us, incarnation, until):
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        held = ask.held
        bound = self._bound(terms, terms.tick_at(now_us), held.until)
        reached = max(held.until, min(until, bound))
        floor = max(reached, self.slots.get(held.slot).until)
        self.slots.put(held.slot, Slot(floor, held.start, held.token))
        return Claim(held.slot, held.start, reached, held.token, now_us, self.seen(terms, now_us))


class ReleasesTooMuch(Record):
    """A release also gives back the last used tick."""

    def release(self, terms, ask, reading_us, incarnation, used):
        return super().release(terms, ask, reading_us, incarnation, max(used - 1, ask.held.start))


class ReleasesFromItsStart(Record):
    """A release gives everything back."""

    def release(self, terms, ask, reading_us, incarnation, used):
        return super().release(terms, ask, reading_us, incarnation, ask.held.start)


class ForgetsGrants(Record):
    """A grant is answered and not recorded."""

    def grant(self, terms, *arguments):
        reply = super().grant(terms, *arguments)
        if not isinstance(reply, Wait):
            self.slots.put(reply.slot, Slot(reply.start, reply.start, reply.token))
        return reply


class NeverSetRight(Record):
    """A correction of the clock shrinks the offset by an eighth, like passing time."""

    def _read_clock(self, terms, ask, reading_us):
        passed_us, offset_us = reading_us - self.last_us, self.offset_us
        now_us = super()._read_clock(terms, ask, reading_us)
        if passed_us > 0:
            self.offset_us = offset_us - min(offset_us, passed_us // 8)
            now_us = reading_us + self.offset_us
            self.top_us = max(self.top_us, now_us)
        return now_us


class NeverEnough(Record):
    """The guard is set at every verb: no member gets a claim after a loss."""

    def _set_identity(self, terms, ask, incarnation):
        super()._set_identity(terms, ask, incarnation)
        self.incarnation = "another"


class Rereads(interpreted().Walk):
    """``ready`` compares ticks with ``==`` and not ``<=``: a clock that is behind restarts it."""

    def ready(self):
        if self.held and not self.fresh and self.tick_ns:
            due = self.due(self.identity.now_ns())
            if due != self.tick and self.start <= due < self.until:
                self.tick = due - 1
                self.enter(due)
                return 0
        return super().ready()


class StepsOver(interpreted().Walk):
    """``ready`` enters the tick at ``until``."""

    def ready(self):
        self.until += 1
        try:
            return super().ready()
        finally:
            self.until -= 1


class LeavesEarly(interpreted().Walk):
    """``leave`` returns the last used tick instead of the next one."""

    def leave(self, era=0):
        start = self.start
        return max(super().leave(era) - 1, start)


class GoesOnAfterLeaving(interpreted().Walk):
    """``leave`` returns the used ticks, and the walk continues to issue."""

    def leave(self, era=0):
        return self.start if self.fresh or self.tick < self.start else self.tick + 1


class FollowsItself(interpreted().Walk):
    """A renewal does not update the registry's time."""

    def prolong(self, until, now, into_ns, read_ns, era=0):
        anchor = self.anchor_tick, 0, self.anchor_ns
        super().prolong(until, *anchor)


class TickAhead(interpreted().Walk):
    """The registry's clock is assumed to be a quarter of a claim ahead."""

    def due(self, now_ns):
        return super().due(now_ns) + (self.until - self.start) // 4


class IgnoresTheSeen(interpreted().Walk):
    """``advance`` moves to any free cell."""

    def advance(self, tick, cell, node):
        return self.ready()


class SeesTheTimeOnly(interpreted().Walk):
    """``advance`` compares the ticks, and no cells of one tick."""

    def advance(self, tick, cell, node):
        return super().advance(tick, 0, self.node)


class JumpsOut(interpreted().Walk):
    """``advance`` enters a tick after the claim's end."""

    def advance(self, tick, cell, node):
        self.until += 10
        try:
            return super().advance(tick, cell, node)
        finally:
            self.until -= 10


class JumpsAhead(interpreted().Walk):
    """``advance`` enters a tick that is further ahead than the lead, where all others wait."""

    def advance(self, tick, cell, node):
        lead, self.lead_ticks = self.lead_ticks, 1 << 40
        try:
            return super().advance(tick, cell, node)
        finally:
            self.lead_ticks = lead


class CountersStartAnew(Record):
    """A missing or foreign counter is accepted."""

    def begin_verb(self, terms, ask, reading_us, incarnation):
        if not (terms.timed or self.sid):
            self._set_identity(terms, ask, incarnation)
        if not terms.timed:
            self.incarnation, ask = incarnation, ask._replace(seen=LastSeen())
        return super().begin_verb(terms, ask, reading_us, incarnation)


class LeavesValuesOut(Record):
    """Without a clock a value is left out between two blocks."""

    def floor(self, n):
        return super().floor(n) + (not self.last_us)


class SkipsValues(interpreted().Walk):
    """A counter's walk leaves out the first value of a row."""

    def enter_row(self, value):
        super().enter_row(min(value + 1, self.until - 1))


class LooksAhead(interpreted().Walk):
    """With blocks of one value too, the next is fetched before it is requested."""

    def mark_half(self, start):
        super().mark_half(start)
        self.mark = start


class TimesTheMiddle(TimedPolicy):
    """The registry is assumed to have read its clock halfway between request and reply."""

    def _note_reply(self, *told):
        *_, sent_ns = told
        yield from super()._note_reply(*told)
        return (sent_ns + self._answered_ns) // 2


class CallsOnce(TimedPolicy):
    """A call is noted before it is made: a caller interrupted in between never calls again."""

    calling = False

    def call(self, call):
        if self.calling:
            return False
        self.calling = True
        return super().call(call)

    def wake(self, error):
        self.calling = False
        super().wake(error)


class SharesASlot(SimulatedRegistry):
    """Each shelf grants the last slot of the one before, too."""

    def _count(self, count):
        super()._count(count)
        for shelf in range(1, count):
            terms = self._shares[shelf]
            slots = range(terms.slots.start - 1, terms.slots.stop)
            self._shares[shelf] = terms._replace(slots=slots)


HERE = [case for case in vars().values() if isinstance(case, type) and case.__module__ == __name__]
OF_THE_KIT = [
    wrong.ClockGoesBack, wrong.GrantsBeyondTheHorizon, wrong.NoFloor, wrong.NoGuard,
    wrong.NoTokenForRelease, wrong.TokensOutliveALoss,
]  # fmt: skip
PARTS = {
    "record": Record,
    "walk": interpreted().Walk,
    "timed": TimedPolicy,
    "registry": SimulatedRegistry,
}
CANARIES = {
    case.__name__: Parts(**{part: case})
    for part, right in PARTS.items()
    for case in OF_THE_KIT + HERE
    if issubclass(case, right)
} | {
    "ForkUnnoticed": Parts(notices_forks=False),
    "RepliesUnmatched": Parts(matches_replies=False),
}
