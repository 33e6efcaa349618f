"""The conformance kit: checks the contract of a registry, for authors of registries.

    from frazil.testing import check_registry

    check_registry(store)   # a Store: see frazil.testing.store

It needs no test framework. frazil itself does not import it.
"""

from frazil.testing.conformance import CHECKS, ConformanceError, Report, Result, check_registry
from frazil.testing.store import (
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
