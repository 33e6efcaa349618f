"""The numbers of a scheme that the expressions of every engine need."""

from frazil.errors import LayoutError
from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme
from frazil.schemes.segments import Segment

__all__ = ["time_us", "whole_words"]


def time_us(scheme: Scheme) -> tuple[int, int]:
    """The length of a tick and the epoch, in µs.

    Raises LayoutError without a time, and if its last moment in µs does not fit int64.
    """
    scheme.segments("time")
    layout = scheme.layout
    assert layout.tick_us is not None
    assert layout.epoch_us is not None
    if layout.us_at(layout.axis_end) >= 1 << 63:
        raise LayoutError(
            f"the time of scheme {scheme.name!r} ends after the last timestamp of 64 bits; use "
            "scheme.unpack",
            field="time",
        )
    return layout.tick_us, layout.epoch_us


def whole_words(scheme: Scheme, role: Role) -> tuple[Segment, ...]:
    """The segments of a role. Raises LayoutError if IDs do not fit a word of 64 bits."""
    if scheme.bits > 64:
        raise LayoutError(
            f"IDs of scheme {scheme.name!r} have {scheme.bits} bits, and integers of tables have "
            "64; use scheme.unpack_many",
            field=role,
        )
    return scheme.segments(role)
