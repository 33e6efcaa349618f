"""Complaints: why a caller has no ID, in words that name the next step.

A registry that is silent, one that is full, and one that is used for the first time look alike to a
caller who has waited in vain. The keeper knows the difference; this module says it.
"""

from dataclasses import dataclass

from frazil.claims.claim import Terms
from frazil.errors import Closed, FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.inputs.duration import duration_text
from frazil.system import clock

__all__ = ["Standing", "closed", "complaint", "no_thread"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a keeper stands with its registry at ``url``.

    trouble: the error of a registry that does not answer, since ``since_us``. put_off: it answered
    that the caller has to wait. ahead: the claim that is held begins, or goes on, ahead of the
    clock. new: nothing was ever given from this namespace.
    """

    url: str
    terms: Terms
    trouble: TryLater | None
    since_us: int
    put_off: bool
    ahead: bool
    new: bool


def closed() -> Closed:
    """The generator was closed."""
    return Closed("this generator was closed; open another")


def no_thread(url: str, error: Exception) -> RegistryUnavailable:
    """The system starts no thread for the keeper."""
    return RegistryUnavailable(
        f"{url} was not asked, since no thread could be started for that ({error}): the process "
        "has as many as it may have, or is about to exit; end some threads or raise the limit "
        "(ulimit -u, pids.max), then ask again",
        url=url,
        outcome_known=True,
    )


def complaint(standing: Standing, waited_s: float) -> FrazilError:
    """Why a caller who waited so long has no ID."""
    url, terms, trouble = standing.url, standing.terms, standing.trouble
    if isinstance(trouble, RegistryUnavailable):
        return RegistryUnavailable(
            f"no claim since {clock.moment_text(standing.since_us)}: {trouble}. "
            "IDs go on by themselves when the registry answers again",
            **trouble.facts,
        )
    if not terms.timed:
        return PoolExhausted(
            f"no block from {url} within {waited_s:.1f} s; take larger ones (block=), or wait "
            "longer (timeout=)",
            waited_s=waited_s,
        )
    none = f"no claim from {url} within {waited_s:.1f} s"
    if not (standing.put_off or standing.ahead):
        return RegistryUnavailable(
            f"{none}: it has not answered yet, or this machine is too busy to hear it; wait "
            "longer (timeout=)",
            url=url,
            outcome_known=False,
        )
    return PoolExhausted(f"{none}: {_reason(standing)}", waited_s=waited_s)


def _reason(standing: Standing) -> str:
    """Why a registry that answers gives no claim that can be used now, and what to do."""
    terms = standing.terms
    if standing.new:
        horizon = duration_text(terms.horizon_ticks * terms.tick_us)
        return (
            "nothing was ever given from this namespace, and a first use cannot be told from a "
            f"loss of all that was given, so the first claim waits for {horizon}; if the namespace "
            f"is new, run frazil init {standing.url} with its name and scheme, else wait longer "
            "(timeout=)"
        )
    if standing.ahead:
        return (
            "the one held is ahead of the clock, as after a first use, a loss or a step of a "
            "clock; wait longer (timeout=), or allow a greater lead="
        )
    return (
        f"all {len(terms.slots)} node numbers are in use, or it has forgotten who has them; wait "
        "longer (timeout=), run fewer processes, or use a layout with more node bits; frazil "
        "claims shows who has them"
    )
