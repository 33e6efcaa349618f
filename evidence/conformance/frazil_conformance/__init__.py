"""The conformance kit: checks the contract of a registry, for authors of registries.

    from frazil_conformance import check_registry

    check_registry(store)   # a Store: see frazil_conformance.store

It needs no test framework. frazil itself does not import it.
"""

from frazil_conformance.conformance import CHECKS, ConformanceError, Report, Result, check_registry
from frazil_conformance.store import (
    Forgets,
    OwnTime,
    Partitioned,
    Restarts,
    Rewinds,
    StepsClock,
    Store,
    Wire,
)

__all__ = [
    "CHECKS",
    "ConformanceError",
    "Forgets",
    "OwnTime",
    "Partitioned",
    "Report",
    "Restarts",
    "Result",
    "Rewinds",
    "StepsClock",
    "Store",
    "Wire",
    "check_registry",
]
