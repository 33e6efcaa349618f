"""The schedule of one seed: its configuration, its members, and the faults with their moments.

A seed determines its whole run. The kinds of faults that occur are drawn first (a swarm: most rare
combinations require that other faults are absent), then their number, times, targets and sizes. The
faults are a plain list, so a failing run can be repeated without some of them; all other random
choices of a run come from generators that do not depend on that list.

A request takes a moment, and a member then issues for long. So a fault at a random moment rarely
occurs during a request, which is the critical time. A quarter of the worlds are therefore *storms*:
many faults of a few kinds, most of which wait until their member's next request is on its way.

Three of ten worlds also have exceptions, whatever their other faults are.
"""

import random
from dataclasses import dataclass, replace

__all__ = ["KINDS", "Fault", "Schedule"]

_USUAL = (
    "store clock steps",
    "store clock freezes",
    "store clock drifts",
    "store clock smears",
    "member clock steps",
    "member clock smears",
    "pause",
    "crash",
    "boot",
    "fork",
    "double start",
    "close",
    "mint",
    "delay",
    "loss",
    "reply loss",
    "repeats",
    "reordering",
    "partition",
    "store crash",
    "store boot",
    "tail lost",
    "failover",
    "wipe",
    "restore",
    "silent loss",
)
KINDS = (*_USUAL, "exception", "successor", "shelf lost")
_IN_A_FAILOVER = ("pause", "partition", "delay", "loss", "reply loss", "store clock steps", "mint")
_OF_LIFE = ("pause", "crash", "fork", "close", "mint")
_TICKS_US = (1_000, 1_000, 10_000, 100_000, 1_000_000)
_HORIZONS_US = (50_000, 1_000_000, 5_000_000, 60_000_000, 600_000_000)

_AXES = ("time", "time", "time", "time", "time", "time", "run", "sequence", "sequence")
_SHELVED = 0.4
_BLOCKS = (1, 1, 3, 10, 50)
_KEPT_HORIZONS = (0, 0.5, 3, 3, 100)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: its time (µs from the start), its kind, the member it affects, and its size.

    asking: it waits for the member's next request, and occurs while that is on its way.
    """

    at_us: int
    kind: str
    member: int
    share: float
    asking: bool = False

    def __str__(self) -> str:
        asking = ", during a request" if self.asking else ""
        about = f"(member {self.member}{asking}, {self.share:.3f})"
        return f"{self.at_us / 1e6:12.3f} s  {self.kind} {about}"


def _faults(rng: random.Random, members: int, lasts_us: int) -> list[Fault]:
    """Faults of few kinds or of many, at random moments."""
    few = rng.random() < 0.3
    kinds = rng.sample(_USUAL, rng.randint(0, 3) if few else rng.randint(3, len(_USUAL)))
    many = rng.choice((1, 4, 12, 30)) if kinds else 0
    return [_fault(rng, kinds, members, lasts_us) for _ in range(many)]


def _storm(rng: random.Random, members: int, lasts_us: int) -> list[Fault]:
    """Many faults of few kinds, some of a member's life, most of them during a request."""
    kinds = rng.sample(_OF_LIFE, rng.randint(1, 2)) + rng.sample(_USUAL, rng.randint(0, 2))
    many = rng.choice((30, 100, 300))
    faults = [_fault(rng, kinds, members, lasts_us) for _ in range(many)]
    return [replace(fault, asking=rng.random() < 0.9) for fault in faults]


def _fault(rng: random.Random, kinds: list[str], members: int, lasts_us: int) -> Fault:
    return Fault(
        at_us=int(rng.random() * lasts_us),
        kind=rng.choice(kinds),
        member=rng.randrange(members),
        share=rng.random(),
    )


def _failovers(rng: random.Random, members: int, lasts_us: int, horizon_us: int) -> list[Fault]:
    """Failovers, each sometimes with a newcomer, a second failover, and a fault shortly before."""
    faults = []

    def add(kind: str, at_us: float) -> None:
        at = max(0, min(int(at_us), lasts_us - 1))
        faults.append(Fault(at, kind, rng.randrange(members), rng.random()))

    for _ in range(rng.choice((1, 1, 2, 4))):
        at_us = rng.random() * lasts_us
        add("successor", at_us)
        if rng.random() < 0.3:
            add("successor", at_us + 2 * rng.random() * horizon_us)
        if rng.random() < 0.5:
            add("double start", at_us + rng.random() * horizon_us / 2)
        if rng.random() < 0.5:
            add(rng.choice(_IN_A_FAILOVER), at_us + (rng.random() - 0.7) * horizon_us)
    return faults


@dataclass(frozen=True, slots=True)
class Schedule:
    """A seed's configuration and faults. All lengths depend on horizon_us.

    keep_us: how long after its last ID a member keeps its claim. axis: the layout's axis. block:
    how many runs or counter values are taken at a time; a counter
    with one value at a time is *strict*. shelves: how many records the namespace has.
    """

    seed: int
    tick_us: int
    horizon_us: int
    node_bits: int
    sequence_bits: int
    lead_us: int
    members: int
    lasts_us: int
    initialised: bool
    guarded: bool
    faults: tuple[Fault, ...]
    axis: str = "time"
    block: int = 1
    keep_us: int = 0
    shelves: int = 1

    @classmethod
    def draw(cls, seed: int) -> "Schedule":
        """The schedule of a seed."""
        rng = random.Random(seed)  # noqa: S311 - schedules, not secrets
        tick_us = rng.choice(_TICKS_US)
        horizon_us = max(4 * tick_us, rng.choice(_HORIZONS_US))
        lasts_us = horizon_us * rng.randint(8, 40)
        members = rng.randint(1, 6)
        faults = _faults(rng, members, lasts_us)
        other = random.Random(f"{seed} axis")  # noqa: S311 - separate: others stay
        storm = random.Random(f"{seed} storm")  # noqa: S311 - separate, as above
        if storm.random() < 0.25:
            faults = _storm(storm, members, lasts_us)
        handler = random.Random(f"{seed} exceptions")  # noqa: S311 - separate, as above
        if handler.random() < 0.3:
            many = handler.choice((3, 30, 200))
            faults += [_fault(handler, ["exception"], members, lasts_us) for _ in range(many)]
        over = random.Random(f"{seed} failovers")  # noqa: S311 - separate, as above
        if over.random() < 0.2:
            faults += _failovers(over, members, lasts_us, horizon_us)
        keeping = random.Random(f"{seed} keep")  # noqa: S311 - separate, as above
        drawn = cls(
            seed=seed,
            tick_us=tick_us,
            horizon_us=horizon_us,
            node_bits=rng.choice((0, 1, 1, 2, 3)),
            sequence_bits=rng.choice((0, 1, 2, 4)),
            lead_us=rng.choice((0, 0, horizon_us // 4, horizon_us)),
            members=members,
            lasts_us=lasts_us,
            initialised=rng.random() < 0.8,
            guarded=rng.random() < 0.5,
            faults=tuple(sorted(faults, key=lambda fault: fault.at_us)),
            axis=other.choice(_AXES),
            block=other.choice(_BLOCKS),
            keep_us=int(horizon_us * keeping.choice(_KEPT_HORIZONS)),
        )
        return _on_shelves(drawn)

    @classmethod
    def draw_failovers(cls, seed: int) -> "Schedule":
        """A schedule of failovers, and little else, in a namespace with a clock."""
        rng = random.Random(f"{seed} only failovers")  # noqa: S311 - schedules, not secrets
        drawn = cls.draw(seed)
        horizon_us, members = drawn.horizon_us, rng.randint(1, 4)
        lasts_us = rng.randint(4, 12) * horizon_us
        faults = _failovers(rng, members, lasts_us, horizon_us)
        drawn = replace(
            drawn,
            axis="time",
            node_bits=rng.choice((0, 1, 1, 2)),
            members=members,
            lasts_us=lasts_us,
            faults=tuple(sorted(faults, key=lambda fault: fault.at_us)),
        )
        return _on_shelves(drawn)

    def without(self, faults: tuple[Fault, ...]) -> "Schedule":
        """The same schedule with only these faults."""
        return replace(self, faults=faults)

    @property
    def low_bits(self) -> tuple[int, int]:
        """How many bits of an ID are below its axis, and how many of those are the sequence's."""
        sequence_bits = 0 if self.axis == "sequence" else self.sequence_bits
        return self.node_bits + sequence_bits, sequence_bits

    @property
    def layout(self) -> str:
        """The layout's text."""
        node = f"node:{self.node_bits} " if self.node_bits else ""
        sequence = f"sequence:{self.sequence_bits} " if self.sequence_bits else ""
        if self.axis == "sequence":
            return f"sequence:40 {node}".strip()
        if self.axis == "run":
            return f"run:30 {node}{sequence}".strip()
        return f"time:40 {node}{sequence}@{self.tick_us}us since 2025-01-01T00:00:00Z"

    def __str__(self) -> str:
        new = "initialised" if self.initialised else "a first use"
        new += ", guarded walks" if self.guarded else ""
        new += f", blocks of {self.block}" if self.axis != "time" else ""
        new += f", {self.shelves} shelves" if self.shelves > 1 else ""
        new += f", claims kept for {self.keep_us / 1e6:g} s"
        horizon_s, lead_s, lasts_s = self.horizon_us / 1e6, self.lead_us / 1e6, self.lasts_us / 1e6
        lines = [
            f"seed {self.seed}: {self.members} members, layout {self.layout}",
            f"horizon {horizon_s:g} s, lead {lead_s:g} s, lasts {lasts_s:g} s, {new}",
            *map(str, self.faults),
        ]
        return "\n".join(lines)


def _on_shelves(drawn: Schedule) -> Schedule:
    """The same schedule, in a part of the seeds with several shelves, some of which are lost."""
    rng = random.Random(f"{drawn.seed} shelves")  # noqa: S311 - separate: others stay
    if drawn.axis != "time" or not drawn.node_bits or rng.random() >= _SHELVED:
        return replace(drawn, shelves=1)
    shelves = rng.randint(2, min(4, 1 << drawn.node_bits))
    many = rng.choice((0, 0, 1, 5))
    lost = [_fault(rng, ["shelf lost"], drawn.members, drawn.lasts_us) for _ in range(many)]
    faults = sorted((*drawn.faults, *lost), key=lambda fault: fault.at_us)
    return replace(drawn, shelves=shelves, faults=tuple(faults))
