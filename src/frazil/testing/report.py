"""The report of the conformance kit: a line for each check, and an error that lists the failures.

A check that does not apply (the store has no clock to step, the pool has one number) is not a
success: it is listed with its reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from frazil.claims.claim import Claim
from frazil.errors import ConfigError

Outcome = Literal["passed", "failed", "not applicable"]


class BrokenContract(Exception):
    """A registry broke the contract; raised inside a check."""


class NotApplicable(Exception):
    """A check does not apply to this store; raised inside it, with the reason."""


def demand(holds: object, fault: str) -> None:
    """Raise BrokenContract with ``fault`` unless ``holds`` is true."""
    if not holds:
        raise BrokenContract(fault)


def demand_claim(reply: object, fault: str) -> Claim:
    """Return a reply that is a claim; raise BrokenContract with ``fault`` for any other."""
    if not isinstance(reply, Claim):
        raise BrokenContract(fault)
    return reply


def demand_refused(
    attempt: Callable[[], object],
    fault: str,
    errors: type[Exception] | tuple[type[Exception], ...] = ConfigError,
) -> str:
    """Require that an attempt raises one of the errors. Returns its message."""
    try:
        reply = attempt()
    except errors as error:
        return str(error)
    raise BrokenContract(f"{fault}: {reply!r}")


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
