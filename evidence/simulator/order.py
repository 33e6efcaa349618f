"""Order: how far from the true time, and so from each other, the IDs of a namespace may be.

Uniqueness is checked by the ledger and does not depend on clocks; order does. Within one generator
order is strict. Between two generators of a namespace a later ID may be less than an earlier one,
but by at most a bound, k. It follows from three errors:

- *The registry's*: ``now`` is the reading of the store's clock plus the offset of a step back. So
  it is ahead of true time by at most as much as that clock ever was, plus its steps forward, which
  add to an offset that has not shrunk yet. A clock that is corrected adds nothing: it jumps by over
  a minute to the right time, which compensates most of the offset.
- *The holder's*: it assumes that ``now`` was read when the reply came, so it is late by the time
  since the reading, and wrong by the drift of its host's clock since.
- *The walk's*: it goes ahead by the lead, and stays in a tick to its end.

With ``ahead`` the greatest of the first two so far and ``behind`` the one of the later ID:
k = ahead + lead + behind + one tick. All of it is measured in true time, which the code under test
cannot see. Each ID is compared with its own share of the bound, which locates an error, and with
the greatest tick of all earlier IDs, which is the promise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.simulator.clock import SMEAR_PPM
from evidence.simulator.violation import Violation
from frazil.claims.claim import Terms
from frazil.claims.record import JUMP_US, WITNESS_US, Record

__all__ = ["CRYSTAL_PPM", "Base", "Order"]

CRYSTAL_PPM = 200
_ROUNDED_US = 2


@dataclass(frozen=True, slots=True)
class Base:
    """The bounds of a holder's error in the registry's ``now``, against true time.

    since_us: the true moment from which its own clock carries it on.
    """

    least_us: int
    most_us: int
    since_us: int

    @classmethod
    def of(cls, now_us: int, sent_us: int, served_us: int, heard_us: int) -> "Base":
        """The base that a reply sets: ``now_us`` when served, and the three true moments."""
        error_us, late_us = now_us - served_us, heard_us - served_us
        return cls(error_us - late_us - _ROUNDED_US, error_us + _ROUNDED_US, sent_us)


class Order:
    """The clock of one namespace and the ticks of its IDs, compared with true time."""

    def __init__(self, terms: Terms, lead_us: int) -> None:
        self._terms = terms
        self._lead_us = lead_us
        self._errors_us: dict[tuple[int, int], int] = {}
        self._clock_ahead_us = 0
        self._ahead_us = 0
        self._top_us = 0
        self._bases: dict[int, Base] = {}

    def verb(
        self, before: Record, after: Record, true_us: int, shelves: Sequence[Record] = ()
    ) -> None:
        """Check after a verb that ``now`` is no further ahead than the clock accounts for.

        A step of the clock is counted from the record's last reading, which may be an old one if
        the store has forgotten later ones. shelves: those that may have this reading.
        """
        error_us = after.last_us - true_us
        last = before.revision, before.last_us
        step_us = error_us - self._errors_us.get(last, error_us)
        right = abs(error_us) <= WITNESS_US and 2 * step_us > before.offset_us
        if step_us > 0 and not (step_us > JUMP_US and right):
            self._clock_ahead_us += step_us
        self._clock_ahead_us = max(self._clock_ahead_us, error_us)
        for record in (after, *shelves):
            if record.last_us == after.last_us:
                self._errors_us[record.revision, record.last_us] = error_us
        ahead_us = error_us + after.offset_us
        if ahead_us > self._clock_ahead_us:
            most = f"its clock accounts for {self._clock_ahead_us}"
            raise Violation(f"the registry's now is {ahead_us} µs ahead of true time; {most}")

    def told(self, member: int, base: Base) -> None:
        """Note that a member follows the registry's clock as in a reply."""
        self._bases[member] = base

    def issue(self, member: int, tick: int, true_us: int) -> bool:
        """Check an ID of a member. Returns what ``check`` does."""
        base = self._bases.get(member)
        return base is not None and self.check(base, tick, true_us)

    def check(self, base: Base, tick: int, true_us: int) -> bool:
        """Check an ID of this tick, issued by a holder with this base.

        Returns whether a greater one was issued before.
        """
        terms = self._terms
        drift_us = (true_us - base.since_us) * (CRYSTAL_PPM + SMEAR_PPM) // 1_000_000 + _ROUNDED_US
        first_us = terms.epoch_us + tick * terms.tick_us
        last_us = first_us + terms.tick_us
        least_us = base.least_us - drift_us
        self._ahead_us = max(self._ahead_us, base.most_us + drift_us)
        ahead_us = first_us - true_us
        if ahead_us > self._ahead_us + self._lead_us:
            most = f"{self._ahead_us} µs and the lead are the most"
            raise Violation(f"tick {tick} begins {ahead_us} µs ahead of true time; {most}")
        if last_us < true_us + least_us:
            late_us = true_us - last_us
            raise Violation(f"tick {tick} ended {late_us} µs ago; {-least_us} are the most")
        k_us = self._ahead_us + self._lead_us - least_us + terms.tick_us
        if self._top_us - first_us > k_us:
            back_us = self._top_us - first_us
            raise Violation(f"tick {tick} is {back_us} µs behind an earlier ID; k is {k_us} µs")
        self._top_us = max(self._top_us, first_us)
        return first_us < self._top_us
