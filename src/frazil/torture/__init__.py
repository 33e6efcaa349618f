"""Torture: real faults on real processes and stores, and every ID that came of it counted.

A simulator (``simulator``) tries more schedules than any machine could live through,
but believes its author about forks, signals, clocks and servers. Here nothing is believed: the
processes are the operating system's, a fork is a fork, ``kill -9`` is ``kill -9``, and what each
process issued is read from a file that outlives it. It can be done to any callable that gives an
ID, so that frazil is measured by the same faults as everybody else.

    results = run(Plan(known("frazil")), searching)

``frazil torture`` is the command of it, and brings the search for duplicates.
"""

from frazil.torture.faults import FAULTS, Fault
from frazil.torture.run import OWN, Plan, Result, named, run
from frazil.torture.schedule import MIXED
from frazil.torture.systems import SYSTEMS, known

__all__ = ["FAULTS", "MIXED", "OWN", "SYSTEMS", "Fault", "Plan", "Result", "known", "named", "run"]
