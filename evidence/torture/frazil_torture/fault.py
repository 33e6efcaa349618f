"""A fault: its name, its description, and the function that inflicts it in a trial."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from frazil_torture.trial import EVIDENCE_S, Trial, Unavailable

__all__ = ["Fault", "must_issue", "require_fork"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its name, its description, and the function that inflicts it.

    clock_off: how far from the true time, in shares of the trial's seconds, a process must see its
    clock; otherwise the fault did not happen. refusal: part of the error of a process that may
    correctly give no ID; None if each process must give one.
    """

    name: str
    what: str
    run: Callable[[Trial], None]
    clock_off: float = 0.0
    refusal: str | None = None


def require_fork() -> None:
    """Raise Unavailable on systems without fork."""
    if not hasattr(os, "fork"):
        raise Unavailable("this system has no fork")


def must_issue(trial: Trial, name: str, descendants: list[str]) -> None:
    """Require IDs from the children, threads or copies of a process."""
    refused = trial.folder / f"{name}.refused"

    def decided() -> bool:
        return (
            all(map(trial.issued, descendants))
            or refused.exists()
            or not trial.processes.alive(name)
        )

    trial.until(decided, EVIDENCE_S)
    for descendant in descendants:
        trial.demand(refused.exists() or trial.issued(descendant), f"{descendant} gave no ID")
