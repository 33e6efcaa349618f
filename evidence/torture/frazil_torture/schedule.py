"""The schedule of a mix: the faults, their targets, times, lengths and variants.

The seed determines the whole schedule before anything starts, so it can be repeated. The operating
system still schedules the processes: one seed gives the same faults at the same moments, but not
the same course of events.

Moments are shares of the length of a round. Omitting a fault (``only``) does not move the others,
so that a failing schedule can be reduced.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = ["INSIDE", "MIXED", "Event", "schedule"]

INSIDE = ("fork", "c-fork", "raise", "handler", "chdir")
"""Faults that a process inflicts on itself."""

MIXED = (*INSIDE, "kill", "stop", "restore", "clock")
"""The faults of a mix."""

_LAST, _OVER = 0.9, 0.95  # nothing begins later, or is done longer
_MOST = {"chdir": 1, "clock": 3, "restore": 3, "stop": 3, "raise": 3, "handler": 3, "kill": 4}
_FORKS = 8
_LONGEST = {"fork": 0.1, "c-fork": 0.1, "raise": 0.3, "handler": 0.3, "stop": 0.12}


@dataclass(frozen=True, slots=True)
class Event:
    """A fault. at, lasts: in shares of the round. process: the number of its target.

    off: of the clock, in shares of the round. way: of a restore (see ``file``), or of the clock
    (``step``, ``freeze``). alone: no process is alive during a restore. tidy: the files beside
    SQLite's file are removed too. aged: the age of the copy.
    """

    at: float
    what: str
    process: int = 0
    lasts: float = 0.0
    off: float = 0.0
    way: str = ""
    alone: bool = False
    tidy: bool = False
    aged: float = 0.0

    @property
    def until(self) -> float:
        """When it is over."""
        return self.at + self.lasts


def schedule(
    seed: int, processes: int, ways: Collection[str], only: Collection[str] = MIXED
) -> list[Event]:
    """The events of a round, sorted by time. ways: of restoring the store.

    frazil does not promise unique IDs if the store loses data while the clock is behind an earlier
    reading. So a round contains restores or steps back of the clock, but not both.
    """
    rng = random.Random(seed)  # noqa: S311 - moments, no secrets
    forgets = rng.random() < 0.5
    events = []
    for what in MIXED:
        for _ in range(rng.randint(1, _MOST.get(what, _FORKS))):
            at = rng.uniform(0.05, _LAST)
            lasts = rng.uniform(0.01, _LONGEST.get(what, 0.01))
            event = Event(at, what, rng.randrange(processes), lasts if what in _LONGEST else 0.0)
            event = _drawn(rng, event, sorted(ways))
            events.append(replace(event, lasts=min(event.lasts, _OVER - at)))
    events.sort(key=lambda event: event.at)
    return [
        event
        for event in (_ascending(events) if forgets else events)
        if event.what in only and (event.what != "restore" or (forgets and ways))
    ]


def _ascending(events: list[Event]) -> Iterator[Event]:
    """The same events with a clock that is never set back."""
    highest = 0.0
    for event in events:
        if event.what == "clock":
            highest = max(highest, event.off)
            yield replace(event, off=highest)
        else:
            yield event


def _drawn(rng: random.Random, event: Event, ways: Sequence[str]) -> Event:
    """The event with the parameters of its fault."""
    chances = [rng.random() for _ in range(4)]
    if event.what == "restore":
        return replace(
            event,
            way=ways[int(chances[0] * len(ways))] if ways else "",
            alone=chances[1] < 0.4,
            tidy=chances[2] < 0.5,
            aged=0.05 + 0.4 * chances[3],
        )
    if event.what == "clock":
        freezes = chances[0] < 0.3
        lasts = 0.02 + 0.15 * chances[2] if freezes else 0.0
        way = "freeze" if freezes else "step"
        return replace(event, way=way, off=chances[1] * 0.8 - 0.4, lasts=lasts)
    return event
