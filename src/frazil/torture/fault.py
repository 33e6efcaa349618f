"""A fault: its name, what it is, and how it is done to a scene."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from frazil.torture.trial import EVIDENCE_S, Trial, Unavailable

__all__ = ["Fault", "must_issue", "require_fork"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its name, what it is, and how it is done.

    clock_off: how far from the true time, in shares of the scene's seconds, a process must have
    seen its clock; otherwise the clock was not faked, and the fault was not there. refusal: what
    stands in the error of a process that rightly gives no ID at all; None where each has to.
    """

    name: str
    what: str
    run: Callable[[Trial], None]
    clock_off: float = 0.0
    refusal: str | None = None


def require_fork() -> None:
    """Leave a scene where processes cannot be forked."""
    if not hasattr(os, "fork"):
        raise Unavailable("this system has no fork")


def must_issue(trial: Trial, name: str, descendants: list[str]) -> None:
    """Wait for children, threads or copies of a process; those that never issue were not there."""
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
