"""Claims: who owns which region of a layout, as plain values.

A claim is a slot (a node number; 0 where the layout has none) and a half-open interval
``[start, until)`` on the layout's axis: ticks, run numbers or counter values. Whoever holds it may
use every cell inside, at any later moment, whatever the clocks say then. It is not a lease: nothing
is taken back when time passes. What ends is only the right to make it longer.

``Terms`` are the constants that all members of a namespace must share; a member with other terms
would draw other regions from the same record, so it is refused. ``LastSeen`` is what a member
remembers of the record and sends along with every verb: a store that has forgotten can be told by
its members. ``Claim``, ``Wait`` and ``Lost`` are the replies.

Units: ``_ticks`` and plain axis values count from the layout's epoch; ``_us`` are microseconds
(moments: since 1970).
"""

from dataclasses import dataclass, field
from functools import lru_cache

from frazil.errors import ConfigError

__all__ = [
    "Claim",
    "Holding",
    "LastSeen",
    "LossNoticed",
    "Lost",
    "Snapshot",
    "Terms",
    "VerbRequest",
    "Wait",
]


@dataclass(frozen=True, slots=True)
class Terms:
    """What all members of a namespace agree on.

    identity: fingerprint of the numbers (layout, constants, shuffle). layout: its text, to show
    when somebody brings another. slots: what this registry hands out; a slot modulo ``nodes`` is a
    node number, and above that stand the layout's constants. end: first axis value that does not
    exist. tick_us is 0 for a layout without time; then there is no epoch and
    no horizon, and ``horizon_ticks`` is the longest block.
    """

    identity: str
    layout: str
    slots: range
    nodes: int
    end: int
    tick_us: int
    epoch_us: int
    horizon_ticks: int

    def __post_init__(self) -> None:
        assert self.slots
        assert self.end > 0
        assert self.horizon_ticks > 0  # else no region could be given at all

    @property
    def timed(self) -> bool:
        """Whether the axis is time."""
        return self.tick_us > 0

    @property
    def fingerprint(self) -> str:
        """One short text that differs when any of the terms that matter does."""
        return _digest(f"{self.identity} {self.tick_us} {self.epoch_us} {self.horizon_ticks}")

    def tick_at(self, us: int) -> int:
        """The tick in which a moment (microseconds since 1970) lies."""
        return (us - self.epoch_us) // self.tick_us


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What a member was last told of the record: its identity, revision and clock."""

    sid: str = ""
    revision: int = 0
    now_us: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A region, its owner's token, and the registry's clock when it was given.

    token is "" for a region that nobody can prolong or give back (``mint``).
    """

    slot: int
    start: int
    until: int
    token: str
    now_us: int
    seen: LastSeen = field(default=LastSeen(), repr=False)

    def time(self, terms: Terms) -> tuple[int, int]:
        """The registry's clock when this was given: a tick, and nanoseconds into it."""
        if not terms.timed:
            return 0, 0
        since_us = self.now_us - terms.epoch_us
        return since_us // terms.tick_us, since_us % terms.tick_us * 1000


@dataclass(frozen=True, slots=True)
class VerbRequest:
    """Who asks: what it remembers, its wall clock as a witness, the claim it holds, its name.

    token: a fresh random text, the token of the claim if this asks for one.
    """

    seen: LastSeen
    witness_us: int
    token: str
    holder: str = ""
    held: Claim | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be given now; ask again after ``wait_us``."""

    wait_us: int
    seen: LastSeen

    @classmethod
    def ticks(cls, ticks: int, terms: Terms, seen: LastSeen) -> "Wait":
        """Until so many ticks after the one of the registry's ``now`` have begun, and no longer.

        Who would wait whole ticks comes back at the same moment of a tick each time. A holder that
        makes its claim longer at an earlier one would be ahead of him for as long as clocks agree.
        """
        into_us = (seen.now_us - terms.epoch_us) % terms.tick_us if terms.timed else 0
        return cls(ticks * terms.tick_us - into_us, seen)


@dataclass(frozen=True, slots=True)
class Lost:
    """The claim cannot be prolonged or given back: somebody else came, or the store forgot.

    What it gave stays its holder's, up to the ``until`` that the holder was told.
    """

    seen: LastSeen


class LossNoticed(ConfigError):
    """A verb is refused because a member remembers more; the record says so from now on.

    Other verbs that raise change nothing. This change is kept, so that members who remember
    nothing are refused, too.
    """


@dataclass(frozen=True, slots=True)
class Holding:
    """One line of the list of who holds what. since_us: when its present holder came."""

    slot: int
    start: int
    until: int
    held: bool
    holder: str
    since_us: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A record as it is seen from outside.

    layout and fingerprint: of the terms it was made for. now_us: the registry's clock. away: what
    the stores say that did not answer, where a registry is several of them.
    """

    layout: str
    fingerprint: str
    now_us: int
    holdings: tuple[Holding, ...]
    away: tuple[str, ...] = ()


@lru_cache(maxsize=64)  # every verb asks
def _digest(text: str) -> str:
    from hashlib import sha256  # loads OpenSSL, which takes longer than all of frazil

    return sha256(text.encode()).hexdigest()[:16]
