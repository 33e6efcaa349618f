"""Losses: what the promise covers after one, judged from outside of the code under test.

A store that lost writes, and whose clock is behind, cannot know by itself how far the lost state
reached. The promise is that a member which remembers tells it in time. So for each loss the
simulator notes whether a member was heard, or could have been, whose clock reaches the highest
``now`` that was ever used. If none was, a repeat is outside the promise: the run ends there.

A member knows what it was told, and continues that clock. It knows too little if the old clock
stepped forward after its last reply. A little less is enough, because the guard has a margin.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evidence.simulator.process import Process
    from evidence.simulator.world import World

__all__ = ["UNKNOWN", "Loss", "is_outside"]

UNKNOWN = -(1 << 62)
"""What a member without a memory adds to the true time."""


@dataclass(slots=True)
class Loss:
    """One loss. at_us: its true time; top_us: the highest ``now`` ever used before.

    told: a member that knows enough was served. granted: something was granted since, so the wait
    is over. struck: the members with a fault since.
    """

    at_us: int
    top_us: int
    margin_us: int
    told: bool = False
    granted: bool = False
    struck: set[int] = field(default_factory=set)

    def hear(self, knows_us: int, sent_us: int) -> None:
        """A request was served of a member whose clock is the true time plus ``knows_us``."""
        clock_us = min(sent_us, self.at_us) + knows_us
        self.told = self.told or clock_us >= self.top_us - self.margin_us


def is_outside(world: "World") -> bool:
    """Whether a repeat now is outside the promise, because of a loss that nobody could tell of."""
    now_us = world.store.record.last_us + world.store.record.offset_us
    for loss in world.store.losses:
        reaches = now_us < loss.top_us + 3 * world.schedule.horizon_us
        if (
            reaches
            and not loss.told
            and not any(_could_tell(world, p, loss) for p in world.members)
        ):
            return True
    return False


def _could_tell(world: "World", process: "Process", loss: Loss) -> bool:
    """Whether a member knows enough, and must report, and nothing keeps it from its requests.

    A member reports its claim until a wait after the claim's end.
    """
    clock_us, claim = process.knows_us + loss.at_us, process.keeper.policy.claim
    return (
        clock_us >= loss.top_us - loss.margin_us
        and process.number not in loss.struck
        and claim is not None
        and world.terms.tick_at(clock_us) < claim.until + world.terms.wait_ticks
        and process.paused_until_us <= loss.at_us
        and all(until_us <= loss.at_us for until_us in process.link.until_us.values())
        and world.store.down_until_us <= loss.at_us + world.schedule.horizon_us // 4
    )
