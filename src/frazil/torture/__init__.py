"""Torture: inject real faults into processes and stores, and search all IDs for duplicates.

The simulator (``simulator``) tries many more schedules, but it models forks, signals, clocks and
servers. Torture uses real processes, forks and ``kill -9``, and reads the IDs of each process from
a file that survives it. It works with any callable that returns an ID, so frazil and other
libraries are tested with the same faults.

    results = run(Plan(known("frazil")), Repeats)

The command is ``frazil torture``.
"""

from frazil.torture.faults import FAULTS, Fault
from frazil.torture.run import OWN, Plan, Result, named, run
from frazil.torture.schedule import MIXED
from frazil.torture.systems import SYSTEMS, known

__all__ = ["FAULTS", "MIXED", "OWN", "SYSTEMS", "Fault", "Plan", "Result", "known", "named", "run"]
