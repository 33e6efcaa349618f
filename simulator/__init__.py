"""The simulator: members, a store, a network and clocks in one thread, and all of them fail.

Faults that meet rarely are never met by waiting. Here the real record, walk and keeper run against
simulated clocks, wires and stores in virtual time; each seed draws its own world and its own
faults, a day passes in a blink, and a seed that fails fails again, in the same way, for anybody.

    python -m simulator --seeds 0-1999
    python -m simulator --seed 1234

Real: ``record.Record``, ``walk.Walk``, ``keeper.KeeperPolicy``, layouts and schemes. Simulated:
time, processes, the network, the store's memory, and what a generator does between walk and keeper.
"""

from simulator.marks import MARKS, Marks
from simulator.report import Report, failure_text
from simulator.schedule import KINDS, Fault, Schedule
from simulator.shrink import shrink
from simulator.world import Outcome, Parts, World, run

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
