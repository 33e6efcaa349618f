"""The fields of a stream of IDs: moments, order, nodes, constants.

An ID carries its moment, so a column of IDs shows how far it is from time order. An ID is *late* if
an earlier row has a later moment; the worst lateness is the k of k-sorted. Two IDs of one tick are
in order, whichever comes first. An ID is *foreign* if a constant differs from the layout's: it is
from another deployment.

Field values are read from the bits of an array of IDs at a time. IDs of more than 64 bits are ints
of Python in an array, for which numpy has the same operators.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme
from frazil.schemes.segments import Segment, assembled

__all__ = ["Survey"]

_NODES_MAX = 1 << 17


class Survey:
    """Statistics of the IDs added so far."""

    def __init__(self, scheme: Scheme) -> None:
        layout = scheme.layout
        self._scheme = scheme
        self._times = _reader(scheme, "time") if layout.bits_of("time") else None
        self._nodes = _reader(scheme, "node") if layout.bits_of("node") else None
        self._mask, self._constants = scheme.constants
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

    def add(self, ids: Any, positions: Any) -> None:
        """Add IDs, an array of uint64 or of ints, and their positions."""
        if not len(ids):
            return
        if self._times is not None:
            self._add_times(self._times(ids), positions)
        if self._nodes is not None:
            self._add_nodes(self._nodes(ids))
        if self._mask:
            self._add_constants(ids, positions)

    def _add_times(self, ticks: Any, positions: Any) -> None:
        low, high = int(ticks.min()), int(ticks.max())
        self.first_tick = low if self.first_tick is None else min(low, self.first_tick)
        self.last_tick = high if self.last_tick is None else max(high, self.last_tick)
        if int(ticks[0]) < self._latest_tick or (ticks[1:] < ticks[:-1]).any():
            latest = np.maximum.accumulate(ticks)
            if self._latest_tick > 0:
                latest = np.maximum(latest, ticks.dtype.type(self._latest_tick))
            late_by = latest - ticks
            self.late += int(np.count_nonzero(late_by))
            worst = int(late_by.argmax())
            if int(late_by[worst]) > self.late_ticks:
                self.late_ticks, self.late_at = int(late_by[worst]), int(positions[worst])
        self._latest_tick = max(high, self._latest_tick)

    def _add_nodes(self, nodes: Any) -> None:
        first = nodes[0]
        if (nodes == first).all():
            counts = {int(first): len(nodes)}
        else:
            values, numbers = np.unique(nodes, return_counts=True)
            counts = dict(zip(map(int, values), map(int, numbers), strict=True))
        for node, count in counts.items():
            if node in self.nodes or len(self.nodes) < _NODES_MAX:
                self.nodes[node] += count
            else:
                self.uncounted += count

    def _add_constants(self, ids: Any, positions: Any) -> None:
        kind = int if ids.dtype == object else np.uint64
        for i in np.flatnonzero(ids & kind(self._mask) != kind(self._constants)):
            self.foreign.update(self._scheme.unpack(int(ids[i])).foreign)
            self.foreign_ids += 1
            if self.foreign_at is None:
                self.foreign_at = int(positions[i])


def _reader(scheme: Scheme, role: Role) -> Callable[[Any], Any]:
    """A function that reads the values of a role from an array of IDs."""
    segments = scheme.segments(role)

    def read(ids: Any) -> Any:
        kind = int if ids.dtype == object else np.uint64

        def cut(segment: Segment) -> Any:
            return (ids >> kind(segment.source)) & kind(segment.mask)

        return assembled(segments, cut, lambda values, bits: values << kind(bits))

    return read
