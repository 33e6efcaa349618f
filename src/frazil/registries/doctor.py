"""What ``frazil doctor`` is told of a store: facts with a verdict, and what the store survives.

Uniqueness rests on a store that keeps what it said and on members that notice when it did not. Both
depend on settings that nobody sees until the day they matter. So each kind of store has a module
that reads them and says what follows, in words for the person who runs it.

Three verdicts. *Good*: as it should be. *Note*: IDs stay unique, at a price that is told: a wait,
or numbers that are skipped. *Bad*: an ID could repeat, or none can be had; somebody has to act.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from frazil.claims.claim import Terms
from frazil.inputs.duration import duration_text

__all__ = [
    "COMMON_EVENTS",
    "Finding",
    "StoreReport",
    "Verdict",
    "clock_offset",
    "outage",
    "rollback",
    "state_loss",
    "worst",
]

Verdict = Literal["good", "note", "bad"]

_APART_US = 1_000_000


class Finding(NamedTuple):
    """One fact, or one event. about: what; found: how it is; meaning: what follows, what to do."""

    about: str
    verdict: Verdict
    found: str
    meaning: str = ""


class StoreReport(NamedTuple):
    """All about a store. server: its kind and version. facts: how it is. events: what it survives.

    ahead_us: how far its clock is before this host's; None where it has none of its own.
    """

    server: str
    facts: tuple[Finding, ...]
    events: tuple[Finding, ...]
    ahead_us: int | None = None


COMMON_EVENTS = (
    Finding(
        "a member crashes, pauses, forks or is started twice",
        "good",
        "survived",
        "a claim is never taken back from its holder, and a new process gets a new one",
    ),
)
"""What every store survives, since it rests on the claims alone."""


def clock_offset(ahead_us: int) -> Finding:
    """What a clock difference means: it is absorbed, and shows in the times of IDs."""
    apart_ms = abs(ahead_us) / 1e3
    apart = f"{apart_ms:.1f} ms" if apart_ms < 1000 else f"{apart_ms / 1e3:.1f} s"
    if abs(ahead_us) < _APART_US:
        return Finding("clock", "good", f"{apart} from this host's")
    which = "ahead of" if ahead_us > 0 else "behind"
    return Finding(
        "clock",
        "note",
        f"{apart} {which} this host's",
        "IDs carry the store's time; set the clock that is wrong (members are no longer heard as "
        "witnesses when it is more than 10 s)",
    )


def outage(terms: Terms) -> Finding:
    """What happens while the store does not answer."""
    inside = f", up to {_horizon(terms)}" if terms.timed else ""
    return Finding(
        "it does not answer for a while",
        "note",
        "late",
        f"generators go on inside their claims{inside}, then wait, and resume by themselves",
    )


def state_loss(event: str, terms: Terms) -> Finding:
    """What happens when the store forgets what it gave."""
    if terms.timed:
        waits = f"it is noticed, and everybody waits {_horizon(terms)} once"
        return Finding(event, "note", "late", waits)
    asks = "it is noticed, and a person must say from where to go on: "
    return Finding(event, "note", "stops", f"{asks}frazil init --start N --forward")


def rollback(event: str, terms: Terms) -> Finding:
    """What happens when the whole store goes back, and nothing in it tells."""
    if terms.timed:
        return state_loss(event, terms)
    return Finding(
        event,
        "note",
        "not noticed",
        "outside the promise without a living member: as with any database sequence, values given "
        "since then would come again; before the first use run: frazil init --start N --forward",
    )


def _horizon(terms: Terms) -> str:
    return duration_text(terms.horizon_ticks * terms.tick_us)


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict among findings."""
    verdicts = {finding.verdict for finding in findings}
    return "bad" if "bad" in verdicts else "note" if "note" in verdicts else "good"
