"""The fields of a stream of IDs: moments, order, nodes, constants.

An ID carries its moment, so a column of IDs shows how far it is from time order. An ID is *late* if
an earlier row has a later moment; the worst lateness is the k of k-sorted. Two IDs of one tick are
in order, whichever comes first. An ID is *foreign* if a constant differs from the layout's: it is
from another deployment.

Field values are read from the bits of an ID, a list of IDs at a time. ``Scheme.unpack`` would take
most of an audit's time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, starmap
from operator import le

from frazil.schemes.scheme import Scheme

__all__ = ["Survey"]

_NODES_MAX = 1 << 17


class Survey:
    """Statistics of the IDs added so far."""

    def __init__(self, scheme: Scheme) -> None:
        layout = scheme.layout
        self._scheme = scheme
        self._times = _reader(scheme.positions("time")) if layout.bits_of("time") else None
        self._nodes = _reader(scheme.positions("node")) if layout.bits_of("node") else None
        self._mask, self._constants = _constants(scheme)
        self._latest_tick = -1
        self.first_tick: int | None = None
        self.last_tick: int | None = None
        self.late = 0
        """How many IDs are late."""
        self.late_ticks = 0
        """The worst lateness in ticks; ``late_at`` is the position of that ID."""
        self.late_at: int | None = None
        self.nodes: Counter[int] = Counter()
        """IDs by node number; ``uncounted`` are those of nodes beyond the first 131,072."""
        self.uncounted = 0
        self.foreign: Counter[str] = Counter()
        """Foreign IDs by the constant that differs; ``foreign_at`` is the first position."""
        self.foreign_ids = 0
        self.foreign_at: int | None = None

    def new_file(self) -> None:
        """Begin a file: order is judged within a file."""
        self._latest_tick = -1

    def add(self, ids: list[int], positions: Sequence[int]) -> None:
        """Add IDs and their positions."""
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
        if ticks[0] < self._latest_tick or not all(starmap(le, pairwise(ticks))):
            for tick, position in zip(ticks, positions, strict=True):
                if tick >= self._latest_tick:
                    self._latest_tick = tick
                    continue
                self.late += 1
                if self._latest_tick - tick > self.late_ticks:
                    self.late_ticks, self.late_at = self._latest_tick - tick, position
        self._latest_tick = max(high, self._latest_tick)

    def _add_nodes(self, nodes: list[int]) -> None:
        counts = Counter(nodes)
        if len(self.nodes) + len(counts) <= _NODES_MAX:
            self.nodes.update(counts)
            return
        for node, count in counts.items():
            if node in self.nodes or len(self.nodes) < _NODES_MAX:
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
    """A function that reads from IDs the value whose bits, lowest first, have these positions."""
    runs: list[tuple[int, int, int]] = []  # lowest bit in the ID, lowest bit in the value, width
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
    """The mask of the constants in an ID, and their value in an ID of the layout."""
    mask = value = 0
    for field in scheme.layout.fields:
        if field.fixed is not None:
            mask |= field.pack(field.limit)
            value |= field.pack(field.fixed)
    if scheme.shuffle is None:
        return mask, value
    return scheme.shuffle.apply(mask), scheme.shuffle.apply(value)
