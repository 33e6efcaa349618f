"""All faults, by name.

Each fault occurs in practice: a web server forks its workers, the time limit of a task queue raises
during a step, a container is killed and restarts within the same millisecond, a laptop sleeps, a
clock is set, two processes have the same settings, a file is restored from a backup. The operating
system inflicts them on real processes; libfaketime sets the clock of a whole trial.
"""

from frazil_torture.clock_steps import CLOCK_STEPS
from frazil_torture.failovers import FAILOVERS
from frazil_torture.fault import Fault
from frazil_torture.inheritance import INHERITANCE, INTERRUPTION
from frazil_torture.lifecycle import LIFECYCLE
from frazil_torture.losses import LOSSES
from frazil_torture.messages import MESSAGES
from frazil_torture.sequences import SEQUENCES

__all__ = ["FAULTS", "Fault"]

_ALL = (
    *INHERITANCE,
    *INTERRUPTION,
    *LIFECYCLE,
    *CLOCK_STEPS,
    *MESSAGES,
    *LOSSES,
    *FAILOVERS,
    *SEQUENCES,
)

FAULTS = {fault.name: fault for fault in _ALL}
"""The faults by name, in the order in which they run."""
