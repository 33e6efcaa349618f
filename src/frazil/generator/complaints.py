"""Errors for a caller that has waited and has no ID. Each names the reason and the next step.

To a caller, a silent registry, a full one and a new one look the same. The keeper knows the
difference, and this module describes it.
"""

from dataclasses import dataclass

from frazil.claims.claim import Terms
from frazil.errors import Closed, FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.inputs.duration import duration_text
from frazil.system import clock

__all__ = ["KeeperState", "closed", "complaint", "inside_the_keeper", "no_thread"]


@dataclass(frozen=True, slots=True)
class KeeperState:
    """What a keeper knows of its registry at ``url``.

    trouble: the error of a registry that does not answer, since ``since_us``. told_to_wait: its
    last answer was to wait. answered: it has answered since the caller began to wait. ahead: the
    claim that is held is ahead of the clock. new: nothing was ever granted in this namespace.
    """

    url: str
    terms: Terms
    trouble: TryLater | None
    since_us: int
    told_to_wait: bool
    answered: bool
    ahead: bool
    new: bool


def closed() -> Closed:
    """The generator was closed."""
    return Closed("this generator was closed; open another")


def no_thread(url: str, error: Exception) -> RegistryUnavailable:
    """The system cannot start the keeper's thread."""
    if "subinterpreter" in str(error):  # only Python's text tells it from a limit
        return RegistryUnavailable(
            f"{url} got no request: {error}, and frazil needs one; open the generator in the main "
            "interpreter, or in a process",
            url=url,
            outcome_known=True,
        )
    return RegistryUnavailable(
        f"{url} got no request, because no thread could be started ({error}): the process has as "
        "many threads as it may have, or is exiting; end some threads or raise the limit "
        "(ulimit -u, pids.max), then try again",
        url=url,
        outcome_known=True,
    )


def inside_the_keeper(url: str) -> RegistryUnavailable:
    """The keeper's own thread asks for an ID."""
    return RegistryUnavailable(
        f"{url} got no request: Python runs this finalizer (__del__, a weakref's callback) in the "
        "thread that fetches claims, and no ID is ready; make the ID before the object is "
        "finalized, or in another thread",
        url=url,
        outcome_known=True,
    )


def complaint(state: KeeperState, waited_s: float, needed_s: float = 0.0) -> FrazilError:
    """Why a caller has no ID after ``waited_s`` seconds.

    needed_s: how much longer it would have to wait, if that is known to exceed its timeout.
    """
    url, terms, trouble = state.url, state.terms, state.trouble
    if isinstance(trouble, RegistryUnavailable):
        return RegistryUnavailable(
            f"no claim since {clock.moment_text(state.since_us)}: {trouble}. "
            "IDs continue when the registry answers again",
            **trouble.facts,
        )
    kind = ("ID" if state.ahead else "claim") if terms.timed else "block"
    none = f"no {kind} from {url} within {waited_s:.1f} s"
    if needed_s:
        none = (
            f"the next ID of {url} is possible in {needed_s:.1f} s, later than timeout= allows, so "
            "this call did not wait for it"
        )
    if not (state.told_to_wait or state.ahead if terms.timed else state.answered):
        return RegistryUnavailable(
            f"{none}: it has not answered yet, or this host is too busy to read the answer; check "
            "that the server runs and can be reached, or wait longer (timeout=)",
            url=url,
            outcome_known=False,
        )
    return PoolExhausted(f"{none}: {_reason(state)}", waited_s=waited_s)


def _reason(state: KeeperState) -> str:
    """Why a registry that answers gives no claim that can be used now, and what to do."""
    terms = state.terms
    if not terms.timed:
        return (
            "it answers, but other callers used up each block first; use larger blocks (block=), "
            "or wait longer (timeout=)"
        )
    if state.new:
        wait = duration_text(terms.wait_ticks * terms.tick_us)
        return (
            "nothing was ever granted in this namespace, and a store that lost its claims looks "
            f"the same, so the first claim waits for {wait}; if the namespace is new, run "
            f"frazil init {state.url} with its name and scheme before the first use (in Python "
            "frazil.init, at each start frazil init --if-missing), else wait longer (timeout=)"
        )
    if state.ahead:
        return (
            "this generator's claim is ahead of the clock, because processes share its node number "
            "in turn; wait longer (timeout=), allow a greater lead=, or run fewer processes"
        )
    return (
        f"all {len(terms.slots)} node numbers are in use, or the registry lost its claims; wait "
        "longer (timeout=), run fewer processes, or use a layout with more node bits; frazil "
        "claims shows the holders"
    )
