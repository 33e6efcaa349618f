"""Tests that others can use: the contract of a registry, for whoever writes another one.

    from frazil.testing import check_registry

    check_registry(store)   # a Store: see frazil.testing.store

Needs no test framework. frazil itself imports nothing of this.
"""

from frazil.testing.conformance import CHECKS, check_registry
from frazil.testing.report import ConformanceError, Report, Result
from frazil.testing.store import (
    Forgets,
    OwnTime,
    Restarts,
    Rewinds,
    Several,
    StepsClock,
    Store,
    Wire,
)

__all__ = [
    "CHECKS",
    "ConformanceError",
    "Forgets",
    "OwnTime",
    "Report",
    "Restarts",
    "Result",
    "Rewinds",
    "Several",
    "StepsClock",
    "Store",
    "Wire",
    "check_registry",
]
