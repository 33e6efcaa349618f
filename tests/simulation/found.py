"""What the simulator has found in the real code: each as the schedule that showed it, shrunk.

A seed means another schedule once the draw is changed; a schedule that is written down stays. Each
stands with the code that failed by it: it fails still, and today's code does not.
"""

from frazil.testing.simulate import Fault, Parts, Schedule
from tests.simulation.canaries import CANARIES

__all__ = ["FOUND"]

BOOTS_IN_1970 = Schedule(
    seed=54,
    tick_us=1000,
    horizon_us=60_000_000,
    node_bits=1,
    sequence_bits=4,
    lead_us=15_000_000,
    members=4,
    lasts_us=1_620_000_000,
    initialised=True,
    guarded=True,
    faults=(Fault(at_us=967_058_762, kind="store boot", member=1, share=0.8132),),
)

FOUND: dict[str, tuple[Schedule, Parts]] = {
    # A store's host without a battery boots in 1970 and is set right: an eighth of that was taken
    # off, and the namespace stood 50 years ahead, past the end of its layout.
    "a store that boots in 1970": (BOOTS_IN_1970, CANARIES["NeverSetRight"]),
}
