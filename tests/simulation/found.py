"""Errors that the simulator found in the real code: each as the shrunk schedule that showed it.

A change of the drawing changes the schedule of a seed, so the schedule itself is kept here. Each
comes with a copy of the code that failed: that still fails, and the current code does not.
"""

from dataclasses import replace

from evidence.simulator import Fault, Parts, Schedule
from frazil.claims.claim import Wait
from frazil.claims.record import Record
from frazil.generator.timed_policy import TimedPolicy
from tests.simulation.canaries import CANARIES
from tests.simulation.failovers import WORLD
from tests.unit.walk.test_walk import interpreted

_WORLD = replace(WORLD, keep_us=0)
BOOTS_IN_1970 = replace(
    _WORLD, seed=54, tick_us=1000, horizon_us=60_000_000, node_bits=1, sequence_bits=4,
    lead_us=15_000_000, members=4, lasts_us=1_620_000_000,
    faults=(Fault(at_us=967_058_762, kind="store boot", member=1, share=0.8132),)
)  # fmt: skip
CLOSED_WHILE_ASKING = replace(
    _WORLD, seed=92, horizon_us=50_000, lead_us=0, members=1, lasts_us=1_800_000, guarded=False,
    faults=(
        Fault(at_us=201_104, kind="store crash", member=0, share=0.6958328667684435),
        Fault(at_us=480_153, kind="delay", member=0, share=0.0938595867742349),
        Fault(at_us=495_015, kind="close", member=0, share=0.8933170425576351),
    )
)  # fmt: skip
ONE_SLOT_FOR_TWO = replace(
    _WORLD, seed=5, tick_us=1_000_000, horizon_us=4_000_000, sequence_bits=0, lead_us=4_000_000,
    lasts_us=64_000_000, guarded=False
)  # fmt: skip


class WaitsWholeTicks(Record):
    """A wait is a number of whole ticks, wherever in a tick the grant was requested."""

    def grant(self, terms, *asked):
        reply = super().grant(terms, *asked)
        if isinstance(reply, Wait):
            ticks = -(-reply.wait_us // terms.tick_us)
            return Wait(ticks * terms.tick_us, reply.seen)
        return reply


class AlwaysAtOneMoment(TimedPolicy):
    """Every retry waits for the same time."""

    def __init__(self, *told, jitter, **asked):
        super().__init__(*told, jitter=lambda: 1.0, **asked)


class LeavesTwice(interpreted().Walk):
    """``leave`` returns the claim's start if the walk was left before."""

    def leave(self, era=0):
        start = self.start
        used = super().leave(era)
        self.start = start
        return used


class LooksAfterTheClosed(TimedPolicy):
    """The keeper tends a closed walk like an issuing one, before it handles the close."""

    looked = False

    def round(self):
        walk = self.walk()
        if walk is None or not walk.closed or self.looked:
            return (yield from super().round())
        self.looked = True
        self.wake(None)
        yield from self._regular_round(walk)
        return 0.0

    def _needs_renewal(self, walk):
        return 2 * walk.reach() < self._want


FOUND: dict[str, tuple[Schedule, Parts]] = {
    # A store's host without a battery boots in 1970 and its clock is corrected: the offset shrank
    # by an eighth of that, and the namespace was 50 years ahead, past the end of its layout.
    "a store that boots in 1970": (BOOTS_IN_1970, CANARIES["NeverSetRight"]),
    # A member closes while a renewal is on its way and another caller waits for it: the keeper
    # handled the caller first, found the walk idle, and gave the claim back from its start.
    "a close during a renewal": (
        CLOSED_WHILE_ASKING,
        Parts(walk=LeavesTwice, timed=LooksAfterTheClosed),
    ),
    # Two members share a slot whose claims reach to the horizon, so each new tick goes to the first
    # request after it began. One came at the same moment of each tick, the other a little earlier.
    "a member that is always second": (
        ONE_SLOT_FOR_TWO,
        Parts(record=WaitsWholeTicks, timed=AlwaysAtOneMoment),
    ),
}
