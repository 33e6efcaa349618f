"""What can be done to an ID system, each by name, and none of it simulated.

Each fault is one that somebody met: a web server that forks its workers, a task queue whose time
limit raises in the midst of a step, a container that is killed and comes back at the same
millisecond, a laptop that sleeps, a clock that is set while everything runs, two processes that
nobody told apart, a file that was put back from a backup. They are done to real processes by the
means of the operating system; a clock is set by libfaketime, for the whole scene alike.
"""

from frazil.torture.clock_steps import CLOCK_STEPS
from frazil.torture.fault import Fault
from frazil.torture.inheritance import INHERITANCE, INTERRUPTION
from frazil.torture.lifecycle import LIFECYCLE
from frazil.torture.losses import LOSSES

__all__ = ["FAULTS", "Fault"]

_ALL = (*INHERITANCE, *INTERRUPTION, *LIFECYCLE, *CLOCK_STEPS, *LOSSES)

FAULTS = {fault.name: fault for fault in _ALL}
"""The faults by name, in the order in which they are done."""
