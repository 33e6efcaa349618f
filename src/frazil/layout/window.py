"""Windows: the IDs of a time interval, as one range of numbers.

A table with IDs as keys can be searched by time without a second index, if all IDs of an interval
lie between two numbers. That holds only if the time leads: no changing field is above it, and its
bits are one run, in order. Otherwise the IDs of one second are spread over the whole table, and a
plausible range would miss most of them. So the result is the exact range, or an error that names
the field.
"""

from collections.abc import Sequence

from frazil.layout.field import Field, misfit

__all__ = ["window_of"]


def window_of(fields: Sequence[Field], first: int, end: int) -> range:
    """The range of all IDs with a tick from ``first`` to before ``end``.

    ``fields`` are those of a layout with a time. Raises LayoutError if no range has exactly those
    IDs.
    """
    time = next(field for field in fields if field.role == "time")
    shift = time.positions[0]
    top = shift + time.bits
    if time.positions != tuple(range(shift, top)):
        how = "is reversed" if time.reversed else "is in pieces"
        raise misfit(
            f"the layout's time {how}, so the IDs of an interval are not one range; filter by the "
            "unpacked moment instead",
            field="time",
        )
    above = 0
    for field in fields:
        if max(field.positions) < top:
            continue
        if field.fixed is None:
            raise misfit(
                f"{field.name} is above the time, so the IDs of an interval are not one range; "
                "use a layout whose time leads, or filter by the unpacked moment",
                field=field.name,
            )
        above |= field.pack(field.fixed)
    base = above >> top << top
    return range(base + (first << shift), base + (end << shift))
