"""The contract of a registry as a program: hand it a store, and it tells which promise is broken.

A registry that looks right in a demonstration gives one node number to two owners on the day when a
reply is lost, a master fails over or a clock is stepped. What must hold then is written down as the
invariants I0 to I5 (docs/explain/why-unique.md); this kit asks for each of them, on the real store,
through the verbs alone. frazil's own registries have no other contract test.

Each check is a function with a namespace of its own. It names the invariant that it shows, and
fails with what the registry answered that it may not. What passes is not proved: schedules are
random (from ``seed``), and a store can fail in ways that its adapter cannot bring about. The report
lists what did not apply.
"""

from collections.abc import Callable, Collection

from frazil.testing import (
    claims,
    clocks,
    counters,
    lost_messages,
    notices,
    owners,
    slot_choice,
    store_loss,
)
from frazil.testing.report import (
    BrokenContract,
    ConformanceError,
    NotApplicable,
    Outcome,
    Report,
    Result,
)
from frazil.testing.store import Store
from frazil.testing.trial import Trial

__all__ = ["CHECKS", "check_registry"]

Check = Callable[[Trial], None]

CHECKS: tuple[Check, ...] = (
    *claims.CHECKS,
    *owners.CHECKS,
    *lost_messages.CHECKS,
    *slot_choice.CHECKS,
    *store_loss.CHECKS,
    *notices.CHECKS,
    *clocks.CHECKS,
    *counters.CHECKS,
)
"""Every check, in the order in which they run."""


def check_registry(store: Store, *, only: Collection[str] | None = None, seed: int = 0) -> Report:
    """Run the contract on a store, and answer what came out of each check.

    only: names of checks, to run no others. seed: another schedule. Raises ConformanceError, which
    lists the failures and carries the report, if any check failed.
    """
    report = Report(
        tuple(_run(check, store, seed) for check in CHECKS if not only or check.__name__ in only)
    )
    if report.names("failed"):
        raise ConformanceError(report)
    return report


def _run(check: Check, store: Store, seed: int) -> Result:
    """One check; what it raises is its result."""
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
