"""The ledger: it checks every verb and every ID of a run against the invariants at once.

An overlap of claims is found long before an ID repeats, which also requires equal sequences. So the
store's answers are checked at each verb (I0, I1, I2), the members' claims at each reply (I3), and
the IDs as they are issued (I4, no ID twice). The ledger reads no clock and relies on nothing of the
code under test, except the floors of the record.
"""

from evidence.simulator.violation import Overlap, Violation
from frazil.claims.claim import Claim, LastSeen, Terms, VerbRequest, Wait
from frazil.claims.record import Record

__all__ = ["Ledger"]


class Ledger:
    """The ticks given and the IDs issued in one namespace."""

    def __init__(self, terms: Terms, low_bits: int, sequence_bits: int) -> None:
        self._terms = terms
        self._low_bits = low_bits
        self._sequence_bits = sequence_bits
        self._frontier: dict[int, tuple[int, str]] = {}
        self._issued: dict[int, int] = {}
        self._owners: dict[str, int] = {}
        self._given: dict[tuple[int, int], int] = {}
        self._moved_to = 0
        self.newest = -1
        self.ids: set[int] = set()

    def verb(
        self,
        name: str,
        ask: VerbRequest,
        before: Record,
        after: Record,
        reply: object,
        step: Record | None = None,
        *,
        waits: bool = False,
        forgot: bool = False,
    ) -> None:
        """Check a verb: I0, I1, I2. step: what was locked of the record, if it was not all of it.

        forgot: the store has lost something before. A floor may then be below IDs that are in the
        past. waits: nothing is granted yet after that.
        """
        passed_us = after.last_us + after.offset_us - before.last_us - before.offset_us
        if passed_us < 0:
            raise Violation(f"now went back by {-passed_us} µs in a {name}")
        now = self._terms.tick_at(after.last_us + after.offset_us) if forgot else 0
        released = ask.held.slot if name == "release" and ask.held is not None else None
        for n, slot in after.slots.stored():
            floor = max(slot.until, after.guard)
            fell = n != released and before.sid == after.sid and floor < before.floor(n)
            if fell:
                raise Violation(f"I1: the floor of slot {n} fell to {floor} by a {name}")
            used = self._issued.get(n, 0)
            if max(floor, now) < used and not waits:
                raise Overlap(f"I1: the floor of slot {n} is {floor}; {used - 1} was issued")
        if isinstance(reply, Claim):
            self._claim(name, ask, step or after, reply)
        elif name == "release" and isinstance(reply, LastSeen) and ask.held is not None:
            until, token = self._frontier.get(ask.held.slot, (0, ""))
            if token == ask.held.token:
                used = after.slots.get(ask.held.slot).until
                self._frontier[ask.held.slot] = min(until, used), ""
        elif isinstance(reply, Wait) and reply.wait_us <= 0:
            raise Violation(f"the reply to a {name} says to wait {reply.wait_us} µs")

    def moved_on(self, record: Record) -> int:
        """Note that an operator restarts a lost counter. Returns its first value.

        That is after all values ever given, including those given back, and after the record's.
        """
        kept = [record.guard, *(slot.until for _, slot in record.slots.stored())]
        start = 1 + max([self._moved_to, *kept, *self._given.values()])
        self._moved_to = start
        self._frontier.clear()
        return start

    def _counted(self, name: str, ask: VerbRequest, claim: Claim) -> None:
        """Check that without a clock a block begins where the last one ended."""
        until, _ = self._frontier.get(claim.slot, (self._moved_to, ""))
        longest = self._terms.horizon_ticks
        if name != "renew":
            if claim.start > until:
                raise Violation(f"a {name} gave {claim}; from {until} on values are skipped")
            if claim.until - claim.start > longest:
                raise Violation(f"a {name} gave {claim}, of more than {longest} values")
        elif ask.held is not None and claim.until - ask.held.until > longest:
            raise Violation(f"a renew gave {claim}, of more than {longest} values more")

    def _claim(self, name: str, ask: VerbRequest, step: Record, claim: Claim) -> None:
        if self._terms.timed:
            self._timely(name, ask, step, claim)
        else:
            self._counted(name, ask, claim)
        until, token = self._frontier.get(claim.slot, (0, ""))
        if name == "renew":
            longer = ask.held is None or claim.until > ask.held.until
            mine = token == claim.token
            if longer and not mine:
                raise Overlap(f"I2: {claim} was renewed over the ticks of another claim")
            if mine:
                self._frontier[claim.slot] = max(until, claim.until), token
        else:
            if claim.start < until:
                raise Overlap(f"I2: {claim} overlaps what was given up to {until}")
            self._frontier[claim.slot] = claim.until, claim.token
        place = claim.slot, claim.start
        self._given[place] = max(claim.until, self._given.get(place, 0))

    def _timely(self, name: str, ask: VerbRequest, step: Record, claim: Claim) -> None:
        """Check that with a clock nothing is given beyond the horizon of the reply's ``now``."""
        now = self._terms.tick_at(step.last_us + step.offset_us)
        told = self._terms.tick_at(claim.now_us)
        if told != now:
            raise Violation(f"the reply to a {name} has another time than the record")
        beyond = claim.until > now + self._terms.horizon_ticks
        renewed = name == "renew" and ask.held is not None and claim.until == ask.held.until
        if beyond and not renewed:
            raise Violation(f"I0: a {name} gave {claim} beyond the horizon of {now}")

    def adopt(self, member: int, ask: VerbRequest, claim: Claim) -> None:
        """Check a reply that a member accepts: I3."""
        asked = ask.token if ask.held is None else ask.held.token
        if claim.token not in ("", asked):
            raise Violation(f"I3: {claim} was taken for the answer to a request for {asked}")
        if claim.token:
            owner = self._owners.setdefault(claim.token, member)
            if owner != member:
                raise Violation(f"I3: {claim} has two owners, {owner} and {member}")

    def issue(
        self,
        number: int,
        claim: tuple[int, int, int],
        last: tuple[int, int],
        *,
        struck: bool = False,
    ) -> tuple[int, int]:
        """Check an ID of a claim (slot, start, until) after the ID ``last``: I4. Returns its place.

        struck: an exception interrupted the caller in between, so an ID may have been lost.
        """
        tick = number >> self._low_bits
        slot = (number >> self._sequence_bits) & ((1 << self._low_bits - self._sequence_bits) - 1)
        sequence = number & ((1 << self._sequence_bits) - 1)
        if number in self.ids:
            raise Overlap(f"ID {number} twice: tick {tick}, slot {slot}")
        self.ids.add(number)
        self.newest = max(self.newest, tick)
        left_out = tick > max(last[0] + 1, claim[1]) and not struck
        if self._terms.tick_us == 0 and left_out:
            raise Violation(f"value {tick} was issued after {last[0]}: some were skipped")
        if (tick, sequence) <= last:
            raise Violation(f"I4: {(tick, sequence)} was issued after {last}")
        if not (claim[0] == slot and claim[1] <= tick < claim[2]):
            raise Violation(
                f"I4: tick {tick} of slot {slot} was issued from slot {claim[0]}, "
                f"[{claim[1]}, {claim[2]})"
            )
        given = self._given.get((slot, claim[1]), 0)
        if tick >= given:
            raise Violation(f"tick {tick} of slot {slot} was never given from {claim[1]} on")
        self._issued[slot] = max(self._issued.get(slot, 0), tick + 1)
        return tick, sequence
