"""What a stream of IDs says about where it comes from: moments, order, nodes, constants.

An ID carries its moment, so a column of IDs shows how far from the order of time it is: an ID is
*late* if an earlier row has a later moment, and by how much it is late at worst is the k of
k-sorted. Two IDs of one tick are in order, whichever comes first. A constant that differs from the
layout's is the sign of IDs of another deployment.

Field values are read straight from the bits where they lie in the ID, a list at a time, and not
through ``Scheme.unpack``, which would be most of an audit's time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, starmap
from operator import le

from frazil.schemes.scheme import Scheme

__all__ = ["Survey"]

_MOST_NODES = 1 << 17


class Survey:
    """What is known of the IDs given so far."""

    def __init__(self, scheme: Scheme) -> None:
        layout = scheme.layout
        self._scheme = scheme
        self._times = _reader(scheme.positions("time")) if layout.bits_of("time") else None
        self._nodes = _reader(scheme.positions("node")) if layout.bits_of("node") else None
        self._mask, self._constants = _constants(scheme)
        self._top = -1
        self.first_tick: int | None = None
        self.last_tick: int | None = None
        self.late = 0
        """IDs that are late."""
        self.late_ticks = 0
        """By how much one is late at worst, in ticks, and its position."""
        self.late_at: int | None = None
        self.nodes: Counter[int] = Counter()
        """IDs by node number; ``uncounted`` are those of nodes beyond the first 131,072."""
        self.uncounted = 0
        self.foreign: Counter[str] = Counter()
        """IDs by constant that differs, and the first of them."""
        self.foreign_ids = 0
        self.foreign_at: int | None = None

    def new_file(self) -> None:
        """Rows of one file say nothing of the order of those of the next."""
        self._top = -1

    def add(self, ids: list[int], positions: Sequence[int]) -> None:
        """Look at some IDs and their positions."""
        if not ids:
            return
        if self._times is not None:
            self._add_times(self._times(ids), positions)
        if self._nodes is not None:
            self._add_nodes(self._nodes(ids))
        if self._mask:
            self._add_constants(ids, positions)

    def _add_times(self, ticks: list[int], positions: Sequence[int]) -> None:
        low, high = min(ticks), max(ticks)
        self.first_tick = low if self.first_tick is None else min(low, self.first_tick)
        self.last_tick = high if self.last_tick is None else max(high, self.last_tick)
        if ticks[0] < self._top or not all(starmap(le, pairwise(ticks))):
            for tick, position in zip(ticks, positions, strict=True):
                if tick >= self._top:
                    self._top = tick
                    continue
                self.late += 1
                if self._top - tick > self.late_ticks:
                    self.late_ticks, self.late_at = self._top - tick, position
        self._top = max(high, self._top)

    def _add_nodes(self, nodes: list[int]) -> None:
        counts = Counter(nodes)
        if len(self.nodes) + len(counts) <= _MOST_NODES:
            self.nodes.update(counts)
            return
        for node, count in counts.items():
            if node in self.nodes or len(self.nodes) < _MOST_NODES:
                self.nodes[node] += count
            else:
                self.uncounted += count

    def _add_constants(self, ids: list[int], positions: Sequence[int]) -> None:
        mask, constants = self._mask, self._constants
        for i in [i for i, n in enumerate(ids) if n & mask != constants]:
            self.foreign.update(self._scheme.unpack(ids[i]).foreign)
            self.foreign_ids += 1
            if self.foreign_at is None:
                self.foreign_at = positions[i]


def _reader(positions: tuple[int, ...]) -> Callable[[list[int]], list[int]]:
    """Reads from IDs the value whose bits, lowest first, lie at these positions."""
    runs: list[tuple[int, int, int]] = []  # lowest bit in the ID, in the value, how many
    for bit, position in enumerate(positions):
        if runs and position == runs[-1][0] + runs[-1][2]:
            low, to, count = runs[-1]
            runs[-1] = (low, to, count + 1)
        else:
            runs.append((position, bit, 1))
    (low, _, count), *more = runs
    mask = (1 << count) - 1

    def read(ids: list[int]) -> list[int]:
        values = [n >> low & mask for n in ids]
        for shift, to, width in more:
            part = (1 << width) - 1
            values = [
                value | (n >> shift & part) << to for value, n in zip(values, ids, strict=True)
            ]
        return values

    return read


def _constants(scheme: Scheme) -> tuple[int, int]:
    """The bits of the constants in an ID, and what they are in an ID of the layout."""
    mask = value = 0
    for field in scheme.layout.fields:
        if field.fixed is not None:
            mask |= field.place(field.limit)
            value |= field.place(field.fixed)
    if scheme.shuffle is None:
        return mask, value
    return scheme.shuffle.apply(mask), scheme.shuffle.apply(value)
