"""Shrinking: the fewest faults with which a schedule still fails.

A failing run has dozens of faults, of which two or three are its cause. Halves, quarters and then
single faults are left out as long as an invariant is still violated (delta debugging). The rest of
a run does not depend on the list of faults, so the remaining faults keep their meaning.
"""

from evidence.simulator.schedule import Schedule
from evidence.simulator.world import Outcome, Parts, run

__all__ = ["shrink"]


def shrink(schedule: Schedule, parts: Parts | None = None) -> Outcome:
    """The outcome of the smallest schedule found that fails as this one does."""
    failing = run(schedule, parts)
    size = max(1, len(schedule.faults) // 2)
    while failing.violation is not None:
        faults = failing.schedule.faults
        for start in range(0, len(faults), size):
            rest = faults[:start] + faults[start + size :]
            outcome = run(schedule.without(rest), parts)
            if outcome.violation is not None:
                failing = outcome
                break
        else:
            if size == 1:
                break
            size //= 2
        size = min(size, max(1, len(failing.schedule.faults)))
    return failing
