"""Which IDs of a scheme are greater than one that was seen: the arithmetic of ``after``.

If the time leads, an ID is greater if its tick is. In the same tick the bits below the time decide:
an ID of a higher node is greater, one of a lower node is not, whatever its sequence; if the
sequence is above the node, a few cells of the tick are passed over.

**The bound.** Members of one namespace have IDs of at most a horizon after the store's clock, and
two clocks of a store differ by less than a minute (a clock that jumps further needs a witness; see
``claims.record``). No ID that is later than both can be one of the namespace.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

from frazil.claims.record import JUMP_US
from frazil.errors import CodecError, ConfigError, PoolExhausted
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text

if TYPE_CHECKING:
    from uuid import UUID

Seen: TypeAlias = Union[int, str, "UUID"]
"""An ID as it came: the number, its text, or a UUID."""

After: TypeAlias = Seen | Iterable[Seen] | None
"""One ID, several, or none."""


class Marks(NamedTuple):
    """The IDs that the next one must exceed. trusted: whether one that cannot be is an error."""

    numbers: list[int]
    trusted: bool


def rises(scheme: Scheme) -> bool:
    """Whether a later ID of one generator is a greater number."""
    time, sequence = scheme.positions("time"), scheme.positions("sequence")
    below = (*scheme.positions("node"), *sequence)
    if not time or list(time) != sorted(time) or list(sequence) != sorted(sequence):
        return False
    return max(below, default=-1) < time[0]


class Order:
    """The order of a scheme's IDs. Raises ConfigError for one whose numbers do not sort by time.

    reach_us: how far after the store's clock the IDs of other members may be.
    """

    def __init__(self, scheme: Scheme, reach_us: int) -> None:
        if not rises(scheme):
            raise ConfigError(
                f"the IDs of scheme {scheme.name!r} do not sort by time, so none of them can be "
                "made greater than another; use a scheme whose time leads, like 'icicle', "
                "'tsid' or 'uuid7', without a shuffle",
                scheme=scheme.name,
            )
        self._scheme = scheme
        self._times = scheme.segments("time")
        self._time_mask = sum(1 << position for position in scheme.positions("time"))
        self._nodes = scheme.positions("node")
        self._cells = scheme.positions("sequence")
        self._constants = scheme.constants[1]
        self._ahead_us = reach_us + JUMP_US

    def marks(self, seen: Seen | Iterable[Seen], *, trusted: bool = True) -> Marks:
        """The numbers of one ID or several. Raises CodecError for what is not an ID of the scheme.

        trusted: whether that is an error; else it is passed over.
        """
        several = isinstance(seen, Iterable) and not isinstance(seen, str | bytes)
        numbers = []
        for each in seen if several else [seen]:  # type: ignore[union-attr]
            try:
                numbers.append(self._scheme.read(each))
            except CodecError:
                if trusted:
                    raise
        return Marks(numbers, trusted)

    def greatest(self, marks: Marks, now_tick: int) -> int | None:
        """The greatest number within the bound; None if there is none.

        now_tick: of the store's clock. Raises CodecError (value, limit) for a trusted number beyond
        the bound; one that is not trusted is passed over.
        """
        layout = self._scheme.layout
        bound = now_tick + self._ahead_us // (layout.tick_us or 1) + 1
        beyond = [n for n in marks.numbers if self.tick(n) > bound]
        if beyond and marks.trusted:
            times = [moment_text(layout.us_at(at)) for at in (self.tick(beyond[0]), now_tick)]
            raise CodecError(
                f"{beyond[0]} is an ID of {times[0]}, and the store's clock says {times[1]}: no "
                "process of this namespace can have made it; check where it came from (in Python, "
                "trusted=False goes on without it)",
                value=beyond[0],
                limit=bound,
            )
        return max((n for n in marks.numbers if self.tick(n) <= bound), default=None)

    def wait_s(self, n: int, now: int) -> float:
        """The seconds from the tick of ``now`` to the tick after that of ``n``."""
        ticks = max(0, self.tick(n) + 1 - self.tick(now))
        return ticks * (self._scheme.layout.tick_us or 0) / 1e6

    def too_early(self, wait_s: float) -> PoolExhausted:
        """The error of a caller that would have to wait for longer than its timeout."""
        return PoolExhausted(
            f"an ID that was seen is {wait_s:.1f} s ahead of the store's clock, which is more than "
            "this call waits; make the next ID then, or wait longer (timeout=)",
            waited_s=0.0,
            retry_after_s=wait_s,
        )

    def tick(self, n: int) -> int:
        """The tick of an ID."""
        return sum((n >> part.source & part.mask) << part.target for part in self._times)

    def cell_after(self, n: int, node: int) -> int:
        """The first cell of a node whose ID is greater, in the tick of ``n``.

        It may be the one after the last cell; then no ID of that tick is greater.
        """
        base = self._constants | n & self._time_mask
        base |= sum(1 << place for bit, place in enumerate(self._nodes) if node >> bit & 1)
        if base > n:
            return 0
        cell = 0
        for bit in reversed(range(len(self._cells))):  # the last cell that is not greater
            if base + (1 << self._cells[bit]) <= n:
                base += 1 << self._cells[bit]
                cell |= 1 << bit
        return cell + 1
