"""Errors for a caller that has waited and has no ID. Each names the reason and the next step.

To a caller, a silent registry, a full one and a new one look the same. The keeper knows the
difference, and this module describes it.
"""

from typing import Literal, NamedTuple, TypeAlias

from frazil.claims.claim import Terms
from frazil.errors import Closed, FrazilError, PoolExhausted, RegistryUnavailable, TryLater
from frazil.system import clock

Cause: TypeAlias = Literal["", "new", "lost", "full", "shared", "used", "many", "taken"]
"""Why a registry that answers gives no claim that can be used now; "" if it has not answered.

new: nothing was ever granted. lost: the store lost its claims. full: all node numbers are in use.
shared: they are, and the claim begins ahead of the clock. used: all of it that may be used now.
many: the IDs of one call of ``mint`` reach ahead of the clock. taken: each block of a counter.
"""


class KeeperState(NamedTuple):
    """What a keeper knows of its registry at ``url``.

    trouble: the error of a registry that does not answer, since ``since_us``. left_s: how long a
    new registry, or one that lost its claims, grants nothing. lost_us: when the loss was noticed;
    0 if that is unknown.
    """

    url: str
    terms: Terms
    trouble: TryLater | None
    since_us: int
    cause: Cause
    left_s: float
    lost_us: int


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
    held = state.cause in ("shared", "used")
    kind = ("ID" if held else "claim") if terms.timed else "block"
    none = f"no {kind} from {url} within {waited_s:.1f} s"
    if needed_s:
        none = (
            f"the next ID of {url} is possible in {needed_s:.1f} s, later than timeout= allows, so "
            "this call did not wait for it"
        )
    if not state.cause:
        return RegistryUnavailable(
            f"{none}: it has not answered yet, or this host is too busy to read the answer; check "
            "that the server runs and can be reached, or wait longer (timeout=)",
            url=url,
            outcome_known=False,
        )
    return exhausted(f"{none}: ", state, waited_s=waited_s)


def exhausted(begin: str, state: KeeperState, **facts: float) -> PoolExhausted:
    """The error that says why a registry that answers gives no claim, and what to do."""
    if state.left_s:
        facts["retry_after_s"] = state.left_s
    if state.cause == "lost":
        facts["lost_us"] = state.lost_us
    return PoolExhausted(f"{begin}{outlook(state)}; {_next_step(state)}", **facts)


def outlook(state: KeeperState) -> str:
    """The reason, and when IDs continue, if that is known."""
    goes_on = f"; IDs continue in {state.left_s:.1f} s" if state.left_s else ""
    return reason(state) + goes_on


def reason(state: KeeperState) -> str:
    """The cause as a sentence, without the name of a host."""
    second_us = state.lost_us // 1_000_000 * 1_000_000
    at = f" at {clock.moment_text(second_us)}" if state.lost_us else ""
    count = len(state.terms.slots)
    in_use = f"all {count} node numbers are in use" if count > 1 else "the node number is in use"
    return {
        "new": (
            "nothing was ever granted in this namespace, and a store that lost its claims looks "
            "the same"
        ),
        "lost": f"the store lost its claims{at}",
        "full": in_use,
        "shared": f"{in_use}, so the claim is still ahead of the clock",
        "used": "this generator has used all IDs of its claim up to now and lead=",
        "many": "so many IDs fill ticks that are still ahead of the clock and lead=",
        "taken": "it answers, but other callers used up each block first",
        "": "no answer",
    }[state.cause]


def _next_step(state: KeeperState) -> str:
    return {
        "new": (
            f"if the namespace is new, run frazil init {state.url} with its name and scheme before "
            "the first use (in Python frazil.init, at each start frazil init --if-missing), else "
            "wait longer (timeout=)"
        ),
        "lost": "no ID repeats; wait longer (timeout=)",
        "full": (
            "wait longer (timeout=), run fewer processes, or use a layout with more node bits; "
            "frazil claims shows the holders"
        ),
        "shared": "wait longer (timeout=), allow a greater lead=, or run fewer processes",
        "used": (
            "wait longer (timeout=), allow a greater lead=, or use a layout with more bits of "
            "sequence"
        ),
        "many": "wait longer (timeout=), make fewer IDs, or allow a greater lead=",
        "taken": "use larger blocks (block=), or wait longer (timeout=)",
        "": "wait longer (timeout=)",
    }[state.cause]
