"""The report of ``frazil doctor`` on a store: facts with a verdict, and the failures it survives.

Unique IDs need a store that keeps its data and members that notice when it does not. Both depend on
settings of the store. Each kind of store has a module that reads these settings and explains their
consequences to an operator.

Three verdicts. *Good*: no action needed. *Note*: IDs stay unique at a stated cost, such as a wait
or skipped numbers. *Bad*: an ID could repeat, or no ID can be made; an operator must act.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from frazil.claims.claim import Terms
from frazil.claims.record import WITNESS_US
from frazil.errors import ClockError
from frazil.inputs.duration import duration_text, offset_text

Verdict = Literal["good", "note", "bad"]

_APART_US = 1_000_000
_SEE_CLOCK = f"see {ClockError.page}"


class Finding(NamedTuple):
    """A fact or an event. about: its name; found: its state; meaning: consequence and next step."""

    about: str
    verdict: Verdict
    found: str
    meaning: str = ""


class StoreReport(NamedTuple):
    """A store. server: kind and version. facts: its settings. events: failures, and their effect.

    ahead_us: how far its clock is ahead of this host's; None if it has no clock. within_us: the
    precision of ``ahead_us``. has_table: whether the store has what must exist before a claim.
    """

    server: str
    facts: tuple[Finding, ...]
    events: tuple[Finding, ...]
    ahead_us: int | None = None
    within_us: int = 0
    has_table: bool = True


COMMON_EVENTS = (
    Finding(
        "a member crashes, pauses, forks or is started twice",
        "good",
        "survived",
        "a claim is never taken from its holder, and a new process gets a new claim",
    ),
)
"""Events that every store survives: only the claims matter."""


def clock_offset(ahead_us: int, within_us: int = 0, *, timed: bool = True) -> Finding:
    """The effect of a clock difference: it shows in the times of IDs, and a large one is refused.

    timed: whether the layout has time.
    """
    if abs(ahead_us) < within_us:
        return Finding("clock", "good", f"within {duration_text(within_us)} of this host's")
    apart = offset_text(abs(ahead_us))
    if abs(ahead_us) < _APART_US:
        return Finding("clock", "good", f"{apart} from this host's")
    found = f"{apart} {'ahead of' if ahead_us > 0 else 'behind'} this host's"
    if timed and abs(ahead_us) > WITNESS_US:
        refused = "a namespace that is new, or rests for a minute, gets no claim"
        return Finding("clock", "bad", found, f"set the wrong clock: {refused}; {_SEE_CLOCK}")
    return Finding("clock", "note", found, "IDs carry the store's time; set the wrong clock")


def record_clock(ahead_us: int, terms: Terms) -> Finding:
    """The effect of a record whose timestamps are ahead of the clock that its store reads."""
    if ahead_us <= max(terms.horizon_ticks * terms.tick_us, _APART_US):
        return Finding("timestamps", "good", "follow the clock")
    return Finding(
        "timestamps",
        "bad",
        f"{offset_text(ahead_us)} ahead of the clock",
        f"a clock was that far ahead when a process used the namespace; {_SEE_CLOCK}",
    )


def clock_steps(terms: Terms) -> Iterable[Finding]:
    """The effect of a step of the server's clock, on layouts with time."""
    if terms.timed:
        yield Finding("the server's clock steps", "good", "survived", "forward and back")


def old_primary(risk: str, safety: str) -> Finding:
    """The effect of two primaries. risk: how to prevent repeats; if "", safety says why none is."""
    event = "an old primary continues beside its successor"
    if risk:
        return Finding(event, "bad", "may repeat", risk)
    return Finding(event, "good", "survived", safety)


def restart(terms: Terms) -> Finding:
    """The effect of a restart of a server that has each claim on its disk, which members notice."""
    event, kept = "the server restarts", "each claim is on its disk"
    if terms.timed:
        waits = f"{kept}; members notice the restart, and each waits {_horizon(terms)} once"
        return Finding(event, "note", "late", waits)
    return Finding(event, "good", "survived", kept)


def outage(terms: Terms) -> Finding:
    """The effect of an outage."""
    inside = f", up to {_horizon(terms)}" if terms.timed else ""
    return Finding(
        "the store is unavailable",
        "note",
        "late",
        f"generators continue within their claims{inside}, then wait, and resume automatically",
    )


def state_loss(event: str, terms: Terms) -> Finding:
    """The effect of lost data."""
    if terms.timed:
        waits = f"members notice it, and each waits {_horizon(terms)} once"
        return Finding(event, "note", "late", waits)
    asks = "members notice it and refuse until you set the next value: "
    return Finding(event, "note", "stops", f"{asks}frazil init --start N --forward")


def rollback(event: str, terms: Terms) -> Finding:
    """The effect of restoring the whole store to an older state without a trace."""
    if terms.timed:
        return state_loss(event, terms)
    return Finding(
        event,
        "note",
        "not noticed",
        "values given since then repeat if no member is running, as with any database sequence; "
        "before the first use run: frazil init --start N --forward",
    )


def _horizon(terms: Terms) -> str:
    return duration_text(terms.horizon_ticks * terms.tick_us)


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict of some findings."""
    verdicts = (finding.verdict for finding in findings)
    return max(verdicts, key=("good", "note", "bad").index, default="good")
