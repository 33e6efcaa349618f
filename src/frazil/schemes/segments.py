"""Segments: a field of an ID as a few shifts and masks, for code that has columns and no ints.

An engine of tables (numpy, Polars, DuckDB, Spark) can shift and mask, but has no layouts. A Python
function for each row is a hundred times slower than its own expressions. A segment is a run of
neighbouring bits that are neighbours in the value as well. A field of an ordinary layout is one
segment, a bit-reversed or shuffled one has one for each bit. No segment crosses a word of 64 bits.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple, TypeVar

Column = TypeVar("Column")


class Segment(NamedTuple):
    """``bits`` bits, at ``source`` in the ID and at ``target`` in the value (0 = lsb)."""

    source: int
    target: int
    bits: int

    @property
    def mask(self) -> int:
        """As many ones as it has bits."""
        return (1 << self.bits) - 1


def segments_of(positions: Sequence[int], longest: int = 64) -> tuple[Segment, ...]:
    """The segments of a value, each of at most ``longest`` bits.

    ``positions[i]`` is the place of its bit ``i`` in the ID.
    """
    found: list[Segment] = []
    for target, source in enumerate(positions):
        last = found[-1] if found else Segment(-1, 0, 0)
        if source == last.source + last.bits and source % 64 and last.bits < longest:
            found[-1] = last._replace(bits=last.bits + 1)
        else:
            found.append(Segment(source, target, 1))
    return tuple(found)


def assembled(
    segments: Iterable[Segment],
    cut: Callable[[Segment], Column],
    moved: Callable[[Column, int], Column],
) -> Column:
    """The value as one expression, the sum of its parts.

    cut: the bits of a segment, as a number. moved: a number shifted to the left.
    """
    parts = (
        moved(cut(segment), segment.target) if segment.target else cut(segment)
        for segment in segments
    )
    return reduce(add, parts)
