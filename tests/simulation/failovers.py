"""Rules after a loss, each broken: the simulator finds it in failovers to a late successor."""

from dataclasses import replace

from evidence.simulator import Fault, Parts, Schedule
from frazil.claims.record import Record
from frazil.generator.timed_policy import TimedPolicy
from tests.conformance.wrong import DeafInTheWait


class FirstDecides(Record):
    """The guard is what the first to ask knows, a horizon on; nothing waits for the others."""

    waits = property(lambda self: False)

    def begin_verb(self, terms, ask, *arguments):
        guard = self.guard
        bare = ask._replace(seen=ask.seen._replace(sent_us=ask.boot_us, reach=0))
        now_us = super().begin_verb(terms, bare, *arguments)
        if self.guard > guard:
            self.guard -= terms.wait_ticks - terms.horizon_ticks
        return now_us

    def rest_ticks(self, terms, ask, now):
        return 0


class GrantsInTheWait(Record):
    """Only the guard is waited for, not the members that remember more."""

    def rest_ticks(self, terms, ask, now):
        return 0


class StoreClockEndsTheWait(Record):
    """The wait ends when the store's clock has reached the guard."""

    def _heed(self, terms, ask, now_us):
        super()._heed(terms, ask, now_us)
        if terms.tick_at(now_us) >= self.guard:
            self.sid = self._life


class StoppedClock(Record):
    """The clock that a member was told is not continued, and what it was given does not count."""

    def begin_verb(self, terms, ask, *arguments):
        seen = ask.seen._replace(sent_us=ask.boot_us, reach=0)
        return super().begin_verb(terms, ask._replace(seen=seen, held=None), *arguments)


class LostAndSilent(TimedPolicy):
    """A claim that is lost is not reported again."""

    def _needs_renewal(self, walk):
        return self._renewable and super()._needs_renewal(walk)


class SleepsOutTheWait(TimedPolicy):
    """A member that is told to wait asks again after that time, however long."""

    def _report_us(self):
        return 1 << 50


FAILOVERS = {
    case.__name__: Parts(record=case)
    for case in (FirstDecides, GrantsInTheWait, DeafInTheWait, StoreClockEndsTheWait, StoppedClock)
} | {case.__name__: Parts(timed=case) for case in (LostAndSilent, SleepsOutTheWait)}

WORLD = Schedule(
    seed=0,
    tick_us=10_000,
    horizon_us=1_000_000,
    node_bits=0,
    sequence_bits=2,
    lead_us=250_000,
    members=2,
    lasts_us=8_000_000,
    initialised=True,
    guarded=True,
    faults=(),
    keep_us=100_000_000,
)

TRACES = {
    # A newcomer asks a successor that is behind, and then the clock is corrected.
    "StoreClockEndsTheWait": replace(
        WORLD,
        seed=123,
        faults=(
            Fault(2_323_090, "successor", 0, 0.692974),
            Fault(2_343_090, "double start", 0, 0.2),
            Fault(2_387_849, "store clock steps", 0, 0.638),
        ),
    ),
    # A holder reports, and the report is lost in a second failover. It wants no ID.
    "LostAndSilent": replace(
        WORLD,
        seed=1,
        node_bits=1,
        keep_us=3_000_000,
        faults=(
            Fault(1_623_686, "successor", 1, 0.8769099791885463),
            Fault(2_024_868, "successor", 0, 0.5232734135808192),
            Fault(2_053_326, "double start", 0, 0.6836055519965453),
        ),
    ),
    # The same, and it is told to wait for longer than a newcomer at the second successor.
    "SleepsOutTheWait": replace(
        WORLD,
        seed=3,
        faults=(
            Fault(3_330_364, "successor", 0, 0.855965),
            Fault(3_955_770, "successor", 0, 0.930771),
            Fault(3_988_234, "double start", 0, 0.5),
        ),
    ),
}
