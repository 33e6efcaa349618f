"""Windows: the IDs of a time interval, as one range of numbers.

A table keyed by ID can be searched by time without a second index, if all IDs of an interval
lie between two numbers. That holds only where the time leads: nothing that changes may stand above
it, and its bits must lie in one run, in order. With the bits reversed, or with the node on top, the
IDs of one second are spread over the whole table, and a range that looks plausible would
miss most of them. So the result is the exact range, or an error that names the field.
"""

from collections.abc import Sequence

from frazil.layout.field import Field, misfit

__all__ = ["window_of"]


def window_of(fields: Sequence[Field], first: int, end: int) -> range:
    """The range of all IDs whose time is from ``first`` up to but not ``end``, in ticks.

    ``fields`` are those of a layout with a time. Raises LayoutError where no one range has
    exactly those IDs.
    """
    time = next(field for field in fields if field.role == "time")
    shift = time.positions[0]
    top = shift + time.bits
    if time.positions != tuple(range(shift, top)):
        how = "is reversed" if time.reversed else "lies in pieces"
        raise misfit(
            f"the time of this layout {how}, so the IDs of an interval are no one range; "
            "filter by the unpacked moment instead",
            field="time",
        )
    above = 0
    for field in fields:
        if max(field.positions) < top:
            continue
        if field.fixed is None:
            raise misfit(
                f"{field.name} stands above the time, so the IDs of an interval are no one range; "
                "take a layout whose time leads, or filter by the unpacked moment",
                field=field.name,
            )
        above |= field.place(field.fixed)
    base = above >> top << top
    return range(base + (first << shift), base + (end << shift))
