"""The simulator: members, a store, a network and clocks in one thread, each with faults.

Rare combinations of faults do not occur in a test that waits for them. Here the real record, walk
and keeper run against simulated clocks, connections and stores in virtual time. Each seed
determines a world and its faults. A day passes in an instant, and a seed that fails once always
fails in the same way.

    python -m evidence.simulator --seeds 0-1999
    python -m evidence.simulator --seed 1234

Real: ``record.Record``, ``walk.Walk``, the keeper's policies, layouts and schemes. Simulated:
time, processes, the network, the store's memory, and what a generator does between walk and keeper.
"""

from evidence.simulator.marks import MARKS, Marks
from evidence.simulator.report import Report, failure_text
from evidence.simulator.schedule import KINDS, Fault, Schedule
from evidence.simulator.shrink import shrink
from evidence.simulator.world import Outcome, Parts, World, run

__all__ = [
    "KINDS",
    "MARKS",
    "Fault",
    "Marks",
    "Outcome",
    "Parts",
    "Report",
    "Schedule",
    "World",
    "failure_text",
    "run",
    "shrink",
]
