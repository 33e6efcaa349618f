"""The numbers of a scheme that the expressions of every engine need.

One rule for all of them: a number that is not an ID of the scheme has no time, no node, no sequence
and no text. It is null there, as in the SQL functions, because one wrong row must not end a query,
and a date made of a wrong number looks like a right one.
"""

from typing import TYPE_CHECKING, Any

from frazil.errors import LayoutError
from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme
from frazil.schemes.segments import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    _check_word(scheme)
    return scheme.segments(role)


def _check_word(scheme: Scheme) -> None:
    if scheme.bits > 64:
        raise LayoutError(
            f"IDs of scheme {scheme.name!r} have {scheme.bits} bits, and integers of tables have "
            "64; use scheme.unpack_many"
        )


def fields_of(
    numbers: Any, missing: "NDArray[Any]", scheme: Scheme
) -> "tuple[dict[str, NDArray[Any]], NDArray[Any]]":
    """The columns of ``Scheme.unpack_many``, and which rows have no ID of the scheme.

    numbers: integers of at most 64 bits, 0 where ``missing``. In rows without an ID the columns
    hold the values of another number. Raises LayoutError for IDs that are wider.
    """
    import numpy as np

    from frazil.schemes import arrays
    from frazil.schemes.columns import id_column

    _check_word(scheme)
    column = np.asarray(numbers)
    if column.dtype.kind not in "iu":
        id_column(column, scheme.codec)  # its error says what is wrong
    none = missing | ~arrays.all_constant(column, *scheme.constants, scheme.id_max)
    usable = column.astype("uint64")
    usable[none] = scheme.constants[1]
    return scheme.unpack_many(usable), none
