"""Claims: the owners of the regions of a layout, as plain values.

A claim is a slot (a node number; 0 if the layout has none) and a half-open interval
``[start, until)`` on the layout's axis: ticks, run numbers or counter values. The holder may use
every cell inside, at any later moment, whatever the clocks say then. A claim is not a lease: it
does not end when time passes. Only the right to renew it can end.

``Terms`` are the constants that all members of a namespace share. A member with other terms is
refused, because it would draw other regions from the same record. ``LastSeen`` is what a member
remembers of the record and sends with every verb, so that a loss in the store is noticed.
``Claim``, ``Wait`` and ``Lost`` are the replies.

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
    """The constants of a namespace.

    identity: fingerprint of the numbers (layout, constants, shuffle). layout: its text, for error
    messages. slots: what this registry grants; a slot modulo ``nodes`` is a node number, and the
    quotient holds the layout's constants. end: the first axis value that does not exist. tick_us is
    0 for a layout without time, which has no epoch; ``horizon_ticks`` is then the longest block.
    namespace: its name, for error messages; "" if unknown.
    """

    identity: str
    layout: str
    slots: range
    nodes: int
    end: int
    tick_us: int
    epoch_us: int
    horizon_ticks: int
    namespace: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        assert self.slots
        assert self.end > 0
        assert self.horizon_ticks > 0  # else no region could be granted

    @property
    def named(self) -> str:
        """The namespace, as error messages name it."""
        return f"namespace {self.namespace!r}" if self.namespace else "this namespace"

    @property
    def timed(self) -> bool:
        """Whether the axis is time."""
        return self.tick_us > 0

    @property
    def fingerprint(self) -> str:
        """A short text that differs if any of the terms that matter does."""
        return _digest(f"{self.identity} {self.tick_us} {self.epoch_us} {self.horizon_ticks}")

    def tick_at(self, us: int) -> int:
        """The tick of a moment (microseconds since 1970)."""
        return (us - self.epoch_us) // self.tick_us


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The identity, revision and clock of the record in the last reply."""

    sid: str = ""
    revision: int = 0
    now_us: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A region, its owner's token, and the registry's clock when it was granted.

    token is "" for a region that cannot be renewed or released (``mint``).
    """

    slot: int
    start: int
    until: int
    token: str
    now_us: int
    seen: LastSeen = field(default=LastSeen(), repr=False)

    def time(self, terms: Terms) -> tuple[int, int]:
        """The registry's clock when this was granted: a tick, and nanoseconds into it."""
        if not terms.timed:
            return 0, 0
        since_us = self.now_us - terms.epoch_us
        return since_us // terms.tick_us, since_us % terms.tick_us * 1000


@dataclass(frozen=True, slots=True)
class VerbRequest:
    """A member's request: what it remembers, its wall clock as a witness, its claim, its name.

    token: a fresh random text; a grant makes it the token of the new claim.
    """

    seen: LastSeen
    witness_us: int
    token: str
    holder: str = ""
    held: Claim | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be granted now; repeat the request after ``wait_us``."""

    wait_us: int
    seen: LastSeen

    @classmethod
    def ticks(cls, ticks: int, terms: Terms, seen: LastSeen) -> "Wait":
        """Wait until the tick ``ticks`` after the one of the registry's ``now`` begins.

        A member that waits whole ticks retries at the same moment of each tick, and a holder that
        renews earlier in the tick would always be first.
        """
        into_us = (seen.now_us - terms.epoch_us) % terms.tick_us if terms.timed else 0
        return cls(ticks * terms.tick_us - into_us, seen)


@dataclass(frozen=True, slots=True)
class Lost:
    """The claim cannot be renewed or released: another member has the slot, or the store lost it.

    The holder may still use the claim, up to the ``until`` of its last grant.
    """

    seen: LastSeen


class LossNoticed(ConfigError):
    """A verb is refused because the member remembers more than the record holds.

    Other verbs that raise change nothing. This one marks the record, so that members that remember
    nothing are refused too.
    """


@dataclass(frozen=True, slots=True)
class Holding:
    """One slot and its holder. since_us: the moment of the holder's grant."""

    slot: int
    start: int
    until: int
    held: bool
    holder: str
    since_us: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of a record's contents.

    layout and fingerprint: of its terms. now_us: the registry's clock. away: the errors of the
    stores of a partitioned registry that did not answer.
    """

    layout: str
    fingerprint: str
    now_us: int
    holdings: tuple[Holding, ...]
    away: tuple[str, ...] = ()


@lru_cache(maxsize=64)  # every verb needs it
def _digest(text: str) -> str:
    from hashlib import sha256  # loads OpenSSL, which is slower than all of frazil

    return sha256(text.encode()).hexdigest()[:16]
