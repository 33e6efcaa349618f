"""The simulator: members, a store, a network and clocks in one thread, and all of them fail.

Faults that meet rarely are never met by waiting. Here the real record, walk and keeper run against
simulated clocks, wires and stores in virtual time; each seed draws its own world and its own
faults, a day passes in a blink, and a seed that fails fails again, in the same way, for anybody.

    python -m frazil.testing.simulate --seeds 0-1999
    python -m frazil.testing.simulate --seed 1234

Real: ``record.Record``, ``walk.Walk``, ``keeper.Keeper``, layouts and schemes. Simulated: time,
processes, the network, the store's memory, and what a generator does between walk and keeper.
"""

from frazil.testing.simulate.marks import MARKS, Marks
from frazil.testing.simulate.report import Report, failure_text
from frazil.testing.simulate.schedule import KINDS, Fault, Schedule
from frazil.testing.simulate.shrink import shrink
from frazil.testing.simulate.world import Outcome, Parts, World, run

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
