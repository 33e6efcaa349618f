"""The contract of a registry as a program: it tests a store and reports broken invariants.

A registry may work in a demonstration and still give one node number to two owners when a reply is
lost, a primary fails over or a clock steps. The invariants I0 to I5 (docs/explain/why-unique.md)
say what must hold then. This kit checks each of them on the real store, only through the verbs.
frazil's own registries have no other contract test.

Each check is a function with its own namespace. It names the invariant, and fails with the answer
that broke it. Passing is not a proof: schedules are random (from ``seed``), and a store can fail in
ways that its adapter cannot cause. The report lists the checks that did not apply.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from inspect import isfunction
from typing import Literal

from frazil_conformance import (
    claims,
    clocks,
    counters,
    lost_messages,
    pasts,
    slot_choice,
    store_loss,
)
from frazil_conformance.store import Store
from frazil_conformance.trial import BrokenContract, NotApplicable, Trial

Check = Callable[[Trial], None]
Outcome = Literal["passed", "failed", "not applicable"]

_MODULES = (claims, lost_messages, slot_choice, store_loss, clocks, counters, pasts)

CHECKS: tuple[Check, ...] = tuple(
    check
    for module in _MODULES
    for name, check in vars(module).items()
    if isfunction(check) and check.__module__ == module.__name__ and not name.startswith("_")
)
"""Every check, in the order in which they run: the public functions of these modules."""


@dataclass(frozen=True, slots=True)
class Result:
    """One check: its name, its invariant, its outcome, and the fault or the reason."""

    name: str
    shows: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:<14}  {self.name}{': ' if self.reason else ''}{self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """All checks, in the order in which they ran."""

    results: tuple[Result, ...]

    def names(self, outcome: Outcome) -> set[str]:
        """The names of the checks with an outcome."""
        return {result.name for result in self.results if result.outcome == outcome}

    def __str__(self) -> str:
        return "\n".join(map(str, self.results))


class ConformanceError(AssertionError):
    """A registry breaks the contract. ``report`` has all checks; the message lists the failures."""

    def __init__(self, report: Report) -> None:
        failures = [result for result in report.results if result.outcome == "failed"]
        told = "\n".join(
            f"  {result.name} ({result.shows}): {result.reason}" for result in failures
        )
        super().__init__(f"{len(failures)} of {len(report.results)} checks failed:\n{told}")
        self.report = report


def check_registry(store: Store, *, only: Collection[str] | None = None, seed: int = 0) -> Report:
    """Check a store against the contract. Returns the result of each check.

    only: the names of the checks to run. seed: of the schedules. Raises ConformanceError, which
    lists the failures and has the report, if a check failed.
    """
    report = Report(
        tuple(_run(check, store, seed) for check in CHECKS if not only or check.__name__ in only)
    )
    if report.names("failed"):
        raise ConformanceError(report)
    return report


def _run(check: Check, store: Store, seed: int) -> Result:
    """Run one check; what it raises is its result."""
    name = check.__name__
    shows = (check.__doc__ or "").partition("\n")[0].partition(":")[0]
    outcome: Outcome = "failed"
    reason = ""
    try:
        check(Trial(store, name, seed))
    except NotApplicable as inapplicable:
        outcome, reason = "not applicable", str(inapplicable)
    except BrokenContract as broken:
        reason = str(broken)
    except Exception as error:  # noqa: BLE001 - whatever a verb raises out of turn is a fault
        reason = f"{type(error).__name__}: {error}"
    else:
        outcome = "passed"
    return Result(name, shows, outcome, reason)
