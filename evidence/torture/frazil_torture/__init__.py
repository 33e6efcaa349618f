"""Torture: inject real faults into processes and stores, and search all IDs for duplicates.

The simulator (``evidence.simulator``) tries many more schedules, but it models forks, signals,
clocks and servers. Torture uses real processes, forks and ``kill -9``, and reads the IDs of each
process from a file that survives it. It works with any callable that returns an ID, so frazil and
other libraries are tested with the same faults. Of frazil it uses the public names, and what the
test ``tests/house/test_own_packages.py`` lists.

    results = run(Plan(known("frazil")), Repeats)

The command is ``frazil torture``.
"""

from frazil_torture.faults import FAULTS, Fault
from frazil_torture.run import OWN, Plan, Result, named, run
from frazil_torture.schedule import MIXED
from frazil_torture.systems import SYSTEMS, known

__all__ = ["FAULTS", "MIXED", "OWN", "SYSTEMS", "Fault", "Plan", "Result", "known", "named", "run"]
