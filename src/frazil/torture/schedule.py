"""The schedule of a mix: what is done, to whom, when, for how long and in which way.

All of it is drawn from a seed before anything starts, so the seed is the schedule and can be played
again. What the operating system does in between is its own affair: one seed is not one course of
events, but it is the same faults at the same moments.

Moments are shares of the length of a round. A fault that is left out (``only``) leaves the others
where they are, so that a schedule that fails can be made smaller.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

__all__ = ["INSIDE", "MIXED", "Event", "schedule"]

INSIDE = ("fork", "c-fork", "raise", "handler", "chdir")
"""Faults that a process does to itself."""

MIXED = (*INSIDE, "kill", "stop", "restore", "clock")
"""What a mix is made of."""

_LAST, _OVER = 0.9, 0.95  # nothing begins later, or is done longer
_MOST = {"chdir": 1, "clock": 3, "restore": 3, "stop": 3, "raise": 3, "handler": 3, "kill": 4}
_FORKS = 8
_LONGEST = {"fork": 0.1, "c-fork": 0.1, "raise": 0.3, "handler": 0.3, "stop": 0.12}


@dataclass(frozen=True, slots=True)
class Event:
    """A fault. at, lasts: in shares of the round. seat: whose, of the processes that there are.

    off: of the clock, in shares of the round. way: of a restore (see ``stores``), or of the clock
    (``step``, ``freeze``). alone: nobody is alive while the store is put back. tidy: what SQLite
    keeps beside its file is removed too. aged: how old the copy is.
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

    def __str__(self) -> str:
        told = [f"{self.at:.3f} {self.what}"]
        told += [f"of p{self.process}"] if self.what not in ("restore", "clock") else []
        told += [self.way] if self.way else []
        told += [f"{self.off:+.3f}"] if self.way == "step" else []
        told += [f"for {self.lasts:.3f}"] if self.lasts else []
        told += [f"aged {self.aged:.3f}"] if self.aged else []
        told += ["nobody alive"] if self.alone else []
        return " ".join(told)


def schedule(
    seed: int, processes: int, ways: Collection[str], only: Collection[str] = MIXED
) -> list[Event]:
    """The events of a round in the order of their moments. ways: in which a store is put back.

    A store that forgets while the clock stands below a time that it has shown before is outside of
    what is promised. So either the store is put back or the clock is, and not both in one round.
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
    if forgets:
        events = _ascending(events)
    return [
        event
        for event in events
        if event.what in only and (event.what != "restore" or (forgets and ways))
    ]


def _ascending(events: list[Event]) -> list[Event]:
    """The same, with a clock that is never set back."""
    highest = 0.0
    ascending = []
    for event in events:
        if event.what == "clock":
            highest = max(highest, event.off)
            event = replace(event, off=highest)  # noqa: PLW2901 - in its place
        ascending.append(event)
    return ascending


def _drawn(rng: random.Random, event: Event, ways: Sequence[str]) -> Event:
    """With the parameters that this fault has."""
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
