"""The record of a namespace, and the verbs on it: the one home of "no two claims overlap".

The obvious way to assign node numbers is a lease: "number 7 is yours for 10 s". A holder that
pauses for 11 s does not know that it lost the number, and continues. A check of the clock before
each ID does not help, because a pause fits between the check and the use.

So nothing is leased. For each slot the record keeps one number, the *floor*: the first tick not
yet granted. A grant returns ``[floor, until)`` and moves the floor to ``until`` in the same atomic
step. The claims on one slot are then disjoint, whatever clocks, pauses, crashes and lost replies
do; a late, lost or repeated request only wastes ticks. A token only decides which member may renew
a claim, or release its unused end.

A store may lose data (a flush, a restart without its last writes, a failover, a restored copy),
and its successor's clock may be behind. Four things together protect against that:

- the **horizon**: no verb grants a tick at or beyond ``now + horizon``;
- the **incarnation**: a text that changes when a store may have lost or forked its history; with
  what members remember (``LastSeen``) it lets the first verb after a loss notice the loss;
- the **guard**: that verb sets it a horizon and an eighth after the latest known ``now``, voids all
  tokens, and draws a new ``sid``, in the same step. No floor is below the guard;
- the **wait**: the first member to ask may remember less than another one. So while the wait lasts,
  nothing is granted, and each verb raises the guard to what its member remembers of the lost
  record: the highest tick it was given, and its clock, continued, if that is ahead. Holders send a
  verb every half horizon at least. The wait ends when a member asks that has known the new ``sid``
  for a horizon and an eighth of its own boot clock (the store's may be corrected meanwhile).

A revision is compared only with one of the same ``sid``: members of an older one whose clock the
guard covers report nothing new, however late they return.

**Clock.** ``now`` is the store's reading plus an offset, and never goes back: a step back of the
clock is added to the offset, which shrinks by at most an eighth of the time that passes. A step
forward of more than a minute needs a witness, the asking member's clock, because a wrong reading
would move the namespace into the future. If the step is most of the offset, a clock was corrected
(like one that booted in 1970), and the whole step is subtracted. And while there is an offset,
``now`` follows no step beyond the clock that the asking member remembers, continued: else clocks
that take turns would add up. Microseconds let the offset shrink between verbs of one millisecond.

The verbs do no I/O: they change the record and return a reply. A store locks the record, and saves
it before it sends the reply; when a verb raises, nothing is saved (but see ``LossNoticed``).
Layouts without time use the same record without a clock. For them waiting does not make a loss
harmless: a record that is missing, or older than a member remembers, is an error that a person must
resolve, by the value to start at. A member accepts a record that seems older if this value is
beyond everything that it knows of. The invariants I0 to I5 are in docs/explain/why-unique.md; an
assertion names the one that it keeps.
"""

from dataclasses import dataclass, field

from frazil.claims.claim import (
    Claim,
    Holding,
    LastSeen,
    LossNoticed,
    Lost,
    Terms,
    VerbRequest,
    Wait,
    layout_mismatch,
)
from frazil.claims.slots import Slot, Slots, SlotTable
from frazil.errors import ClockError, ConfigError, LayoutExhausted, PoolExhausted, brief
from frazil.system import clock

JUMP_US = 60_000_000
WAITS = "?"
WITNESS_US = 10_000_000


@dataclass(slots=True)
class Record:
    """The state of one namespace.

    ``sid`` is random and drawn at each noticed loss; it begins with ``WAITS`` until the wait after
    that loss is over, and is "" for a record that does not exist yet. ``last_us``, ``offset_us``
    and ``top_us`` are the clock: the store's last reading, what is added to it, and the highest
    ``now`` ever used.
    """

    slots: Slots = field(default_factory=SlotTable)
    sid: str = ""
    incarnation: str = ""
    fingerprint: str = ""
    layout: str = ""
    revision: int = 0
    guard: int = 0
    last_us: int = 0
    offset_us: int = 0
    top_us: int = 0

    @property
    def waits(self) -> bool:
        """Whether the wait after a loss is not over."""
        return self.sid.startswith(WAITS)

    def floor(self, n: int) -> int:
        """The first tick of slot n that may still be granted."""
        return max(self.slots.get(n).until, self.guard)

    def grant(
        self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str, want: int
    ) -> Claim | Wait:
        """Grant up to ``want`` ticks to a new owner, or return how long to wait for them.

        Raises ConfigError (other terms, missing counter), ClockError, LayoutExhausted; then
        nothing was changed.
        """
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        now = terms.tick_at(now_us) if terms.timed else 0
        if terms.timed and (rest := self.rest_ticks(terms, ask, now)) > 0:
            return Wait.ticks(rest, terms, self.seen(terms, now_us), guarded=True)
        n = self._choose(terms, now)
        floor = self.floor(n)
        start = max(floor, now)
        if start >= terms.end:
            raise exhausted(terms)
        bound = self._bound(terms, now, start)
        until = min(start + want, bound)
        least = min(want, max(1, terms.horizon_ticks // 100), terms.end - start)
        if until - start < least:
            assert terms.timed  # a block of a counter is always available
            return Wait.ticks(start + least - bound, terms, self.seen(terms, now_us))
        assert floor <= start < until <= bound  # I2: the floor moves past the claim; I0: the bound
        self.slots.put(n, Slot(until, start, ask.token, ask.holder, now_us))
        return Claim(n, start, until, ask.token, now_us, self.seen(terms, now_us))

    def mint(
        self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str, ticks: int
    ) -> Claim | Wait:
        """Grant up to ``ticks`` ticks for immediate use, without a token."""
        reply = self.grant(terms, ask, reading_us, incarnation, ticks)
        if isinstance(reply, Claim):
            assert self.slots.get(reply.slot).until == reply.until  # I1: only the token goes
            self.slots.put(reply.slot, Slot(reply.until, reply.start))
            reply = Claim(reply.slot, reply.start, reply.until, "", reply.now_us, reply.seen)
        return reply

    def renew(
        self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str, until: int
    ) -> Claim | Lost:
        """Extend the claim held to ``until``, or as near as the horizon allows.

        A late renewal, past the claim's end, is valid: the token shows that no other member got the
        slot.
        """
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        held, slot = self._held(ask)
        if slot is None or slot.until != held.until:
            return Lost(self.seen(terms, now_us))
        now = terms.tick_at(now_us) if terms.timed else 0
        bound = self._bound(terms, now, slot.until)
        reached = max(slot.until, min(until, bound))
        assert held.until <= reached <= max(held.until, bound)  # I1: no floor falls; I0: the bound
        self.slots.put(held.slot, Slot(reached, slot.start, held.token, ask.holder, slot.since_us))
        return Claim(held.slot, held.start, reached, held.token, now_us, self.seen(terms, now_us))

    def release(
        self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str, used: int
    ) -> LastSeen | Lost:
        """Give back every tick from ``used`` on. The holder closes before it releases."""
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        held, slot = self._held(ask)
        if slot is None or not slot.start <= used <= slot.until:
            return Lost(self.seen(terms, now_us))
        self.slots.put(held.slot, Slot(used, slot.start))
        return self.seen(terms, now_us)

    def reserve(self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str) -> Claim:
        """Reserve a slot permanently, from its floor to the end of the axis.

        For a maker of IDs that sends no further requests, such as a function of the store itself.
        This is beyond the horizon (I0): after a loss of this record the guard does not cover it. So
        the new owner may not use a tick one horizon after the moment at which it last found its
        reservation.

        Raises ConfigError if no slot is free, or no other one would be left; PoolExhausted during
        the wait after a loss; LayoutExhausted.
        """
        now_us = self.begin_verb(terms, ask, reading_us, incarnation)
        now = terms.tick_at(now_us) if terms.timed else 0
        if terms.timed and (rest := self.rest_ticks(terms, ask, now)) > 0:
            wait_s = rest * terms.tick_us / 1e6
            raise PoolExhausted(
                f"the store may have lost claims of {terms.named}, so nothing can be reserved for "
                f"{wait_s:.1f} s; try again then",
                retry_after_s=wait_s,
            )
        n = self._choose(terms, now)
        slot, start = self.slots.get(n), max(self.floor(n), now)
        gone = sum(s.until >= terms.end for m, s in self.slots.stored() if m in terms.slots)
        if start >= terms.end:
            raise exhausted(terms)
        if (slot.token and slot.until > now) or gone + 1 >= len(terms.slots):
            raise ConfigError(
                f"none of the {len(terms.slots)} node numbers can be reserved ({gone} are); one "
                "must be free, and another one left; stop a generator, or use a layout with more "
                "bits of node",
                value=gone,
                limit=len(terms.slots),
            )
        self.slots.put(n, Slot(terms.end, start, ask.token, ask.holder, now_us))
        assert self.floor(n) == terms.end > start  # I1; and I2: no other verb grants from there
        return Claim(n, start, terms.end, "", now_us, self.seen(terms, now_us))

    def initialise(
        self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str, start: int | None
    ) -> LastSeen:
        """Make the record of this namespace, in which nothing from ``start`` on was ever granted.

        With time, ``start`` is 0 and there is no guard. An existing counter continues at ``start``
        if that is beyond everything it granted. None: unknown, so the guard is set as after a loss.
        """
        if self.sid and self.fingerprint != terms.fingerprint:
            raise layout_mismatch(self.layout, terms)
        if self.sid and (terms.timed or start is None):
            raise ConfigError(
                f"{terms.named} already has a record; to start again, choose another name",
                revision=self.revision,
            )
        if start is None:
            return self.seen(terms, self.begin_verb(terms, ask, reading_us, incarnation))
        if not 0 <= start < terms.end:
            raise ConfigError(
                f"--start {brief(start)} is not within 0..{terms.end - 1}", value=start
            )
        if self.sid:
            self._advance_counter(start)
        self._set_identity(terms, ask, incarnation)
        assert start >= self.guard  # the guard only rises
        self.guard = start
        return self.seen(terms, self._read_clock(terms, ask, reading_us))

    def _advance_counter(self, start: int) -> None:
        """Void all claims of a counter, and let its members compare starts, not revisions."""
        top = max([self.guard, *(slot.until for _, slot in self.slots.stored())])
        if start <= top:
            raise ConfigError(
                f"this counter has already reached {top}; give a greater --start, or choose "
                "another namespace",
                value=start,
                limit=top,
            )
        self.slots.void_tokens()
        self.sid = ""

    def holdings(self) -> list[Holding]:
        """Every slot that was ever granted, by number."""
        return [
            Holding(n, s.start, s.until, bool(s.token), s.holder, s.since_us)
            for n, s in self.slots.stored()
        ]

    def begin_verb(self, terms: Terms, ask: VerbRequest, reading_us: int, incarnation: str) -> int:
        """The beginning of every verb: check the terms, notice a loss, read the clock."""
        if self.sid and self.fingerprint != terms.fingerprint:
            raise self._mismatch(terms, ask)
        if not terms.timed:
            self._refuse_loss(ask, incarnation)
            self.revision += 1
            return 0
        before = self.revision, self.guard
        lost = self._is_loss(terms, ask, incarnation)
        now_us = self._read_clock(terms, ask, reading_us)
        if lost:
            self.sid = WAITS + ask.token
            self._set_identity(terms, ask, incarnation)
            latest_us = max(reading_us, self.top_us, ask.clock_us)
            self.guard = max(self.guard, terms.tick_at(latest_us) + terms.wait_ticks)
            self.slots.void_tokens()
            assert self.guard > terms.tick_at(now_us) + terms.horizon_ticks  # beyond I0
        if self.waits:
            self._heed(terms, ask, now_us)
        self.revision += 1
        assert self.revision > before[0]  # members tell an older copy of the record by it
        assert self.guard >= before[1]  # so no floor falls (I1)
        return now_us

    def _is_loss(self, terms: Terms, ask: VerbRequest, incarnation: str) -> bool:
        seen, held = ask.seen, ask.held
        if not self.sid or self.incarnation != incarnation:
            return True
        same = seen.sid == self._life
        if same and seen.revision > self.revision:
            return True
        if self.waits:  # then a report raises the guard, and the wait does not begin again
            return False
        if held is not None and held.until > self.floor(held.slot):
            slot = self.slots.get(held.slot)
            given_back = not slot.token and slot.start == held.start
            if not given_back:  # by the same request, which has arrived twice
                return True
        # Of an older life only the clock applies, and not continued: each member that returns late
        # would be a loss.
        later = terms.tick_at(seen.now_us) + terms.horizon_ticks > self.guard
        return bool(seen.sid) and not same and later

    def _heed(self, terms: Terms, ask: VerbRequest, now_us: int) -> None:
        """In the wait after a loss: raise the guard to what a member remembers, or end the wait."""
        seen = ask.seen
        self.guard = max(self.guard, seen.reach, ask.held.until if ask.held else 0)
        if seen.sid == self._life:
            if ask.known_us >= terms.wait_ticks * terms.tick_us:
                self.sid = self._life
            return
        clock = terms.tick_at(ask.clock_us)
        if clock > terms.tick_at(now_us) + terms.slack_ticks:
            self.guard = max(self.guard, clock + terms.wait_ticks)

    def rest_ticks(self, terms: Terms, ask: VerbRequest, now: int) -> int:
        """How long nothing can be granted, as far as this member can tell."""
        if self.guard > now or not self.waits:
            return self.guard - now
        known = ask.known_us // terms.tick_us if ask.seen.sid == self._life else 0
        return max(terms.wait_ticks - known, 1)

    def _mismatch(self, terms: Terms, ask: VerbRequest) -> ConfigError:
        """The error for a member with other terms.

        After a loss, a member with a shorter horizon may have made the record, and this one may
        remember more. A layout has one tick.
        """
        error, guard = layout_mismatch(self.layout, terms), self.guard
        if self.waits and terms.timed and self.layout == terms.layout:
            self._heed(terms, ask, self.top_us)
        if self.guard == guard:
            return error
        self.revision += 1
        return LossNoticed(str(error), **error.facts)

    def _refuse_loss(self, ask: VerbRequest, incarnation: str) -> None:
        """Refuse a verb after the loss of a counter, because waiting does not help there.

        The part of the incarnation before "/" identifies the data.
        """
        seen, kind = ask.seen, ConfigError
        same = seen.sid == self.sid
        newer = same and seen.revision <= self.revision
        newer = newer or not seen.sid or 0 < seen.reach <= self.guard
        if not self.sid:
            problem = "this counter does not exist"
        elif self.incarnation.partition("/")[0] != incarnation.partition("/")[0]:
            problem = "the store of this counter was replaced"
        elif not newer:
            problem = "this counter is older than values that were already granted"
            if same or seen.reach:  # only this member knows, so the record notes it for all
                kind, self.incarnation, self.revision = LossNoticed, "", self.revision + 1
        else:
            self.incarnation = incarnation
            return
        least = f" (at least {seen.reach - 1})" if seen.reach else ""
        raise kind(
            f"{problem}; find the highest value in use{least} and run: frazil init URL --start N"
            f"{' --forward' if self.sid else ''}, with the counter's --scheme and --namespace",
            revision=self.revision,
        )

    def _set_identity(self, terms: Terms, ask: VerbRequest, incarnation: str) -> None:
        """Set the incarnation and the terms, and the identity if there is none."""
        self.sid = self.sid or ask.token
        self.incarnation = incarnation
        self.fingerprint = terms.fingerprint
        self.layout = terms.layout

    def _read_clock(self, terms: Terms, ask: VerbRequest, reading_us: int) -> int:
        """Use a reading of the store's clock, and return ``now``, which never goes back."""
        if not terms.timed:
            return 0
        passed_us = reading_us - self.last_us
        if passed_us > JUMP_US and abs(ask.witness_us - reading_us) > WITNESS_US:
            raise ClockError(
                f"the registry's clock shows {clock.moment_text(reading_us)} and this host's clock "
                f"{clock.moment_text(ask.witness_us)}; correct the wrong one and try again",
                reading_us=reading_us,
                witness_us=ask.witness_us,
            )
        offset_us = self.offset_us
        whole = passed_us < 0 or (passed_us > JUMP_US and 2 * passed_us > offset_us)
        offset_us -= min(offset_us, passed_us if whole else passed_us // 8)
        if ask.seen.now_us and ask.seen.sid == self._life:  # time passes as for this member
            latest_us = max(ask.clock_us, self.last_us + self.offset_us)
            offset_us -= min(offset_us, max(reading_us + offset_us - latest_us, 0))
        now_us = reading_us + offset_us
        assert now_us >= self.last_us + self.offset_us  # `now` never goes back
        if now_us < terms.epoch_us:
            raise ClockError(
                f"the registry's clock shows {clock.moment_text(now_us)}, which is before the "
                f"layout's epoch {clock.moment_text(terms.epoch_us)}; correct the clock",
                reading_us=reading_us,
                witness_us=ask.witness_us,
            )
        self.last_us, self.offset_us = reading_us, offset_us
        self.top_us = max(self.top_us, now_us)
        return now_us

    def _choose(self, terms: Terms, now: int) -> int:
        if not terms.timed:
            return self.slots.lowest_floor(terms.end, self.guard, terms.slots)
        late_from = now - terms.horizon_ticks
        n = self.slots.best_free(now, self.guard, terms.slots, late_from)
        return self.slots.lowest_floor(now, self.guard, terms.slots) if n is None else n

    def _bound(self, terms: Terms, now: int, start: int) -> int:
        """The first tick that may not be granted."""
        ahead = now if terms.timed else start
        assert now >= 0
        return min(ahead + terms.horizon_ticks, terms.end)

    def _held(self, ask: VerbRequest) -> tuple[Claim, Slot | None]:
        """The claim of the request, and its slot if the token on it is still that claim's."""
        if ask.held is None or not ask.held.token:
            raise ConfigError("renew and release need a claim with a token")
        slot = self.slots.get(ask.held.slot)
        return ask.held, slot if slot.token == ask.held.token else None

    def seen(self, terms: Terms, now_us: int) -> LastSeen:
        """What a reply tells of the record."""
        reach = 0 if terms.timed else self.guard + 1  # a counter's guard is its declared start
        return LastSeen(self._life, self.revision, now_us, reach)

    @property
    def _life(self) -> str:
        """The ``sid`` as members are told it, before and after the end of a wait."""
        return self.sid.removeprefix(WAITS)


def exhausted(terms: Terms) -> LayoutExhausted:
    """The error if every slot is used to its end."""
    what, layout = "time field" if terms.timed else "counter", terms.layout.partition(" | ")[0]
    return LayoutExhausted(
        f"the {what} of {layout!r} is used up ({terms.end}); choose a wider layout in a "
        "new namespace",
        limit=terms.end,
    )
