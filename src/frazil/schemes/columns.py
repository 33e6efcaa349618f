"""Columns of IDs and what is in them, for numpy, pandas, Polars and Arrow.

A column comes in many types, and two of them damage IDs without an error: float64, which has 53
bits for a number, and a column with missing values, which numpy gets as float64. So a column is
read here, in one place, and refused if its IDs cannot be exact. The kernels are those of
``frazil.schemes.arrays``.

Limits: a value of more than 63 bits, and a moment outside datetime64 in µs, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from frazil.errors import LayoutError, Misuse, brief
from frazil.schemes import arrays
from frazil.schemes.codec import Codec, each
from frazil.schemes.segments import Segment, assembled, segments_of
from frazil.system.clock import to_us
from frazil.system.extras import needs

with needs("arrays need numpy", "numpy"):
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = (1 << 63) - 1
_PANDAS_UNIT = re.compile(r"(?:date|timestamp)\w*\[(s|ms|us|ns|day)\b")


def id_column(ids: Any, codec: Codec) -> NDArray[Any]:
    """IDs as a numpy array of uint64, or with ``hi`` and ``lo`` above 64 bits.

    ``ids`` is a column of any library, or an iterable of ints. Raises Misuse for floats, missing
    values and other types, CodecError (index) for a number that does not fit the codec.
    """
    column, missing = id_column_and_gaps(ids, codec)
    if missing is not None:
        raise Misuse(f"element {missing.argmax()} has no value; drop or fill missing values")
    return column


def id_column_and_gaps(ids: Any, codec: Codec) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The same, with 0 where a value is missing; and where that is, or None if none is missing."""
    ids, missing = _filled(ids)
    column = np.asarray(ids) if hasattr(ids, "__array__") else None
    if column is None or column.dtype.kind == "O":
        numbers, missing = _listed(ids if column is None else column, codec, missing)
        return arrays.from_ints(numbers, codec.bits), missing
    if column.dtype.kind == "f":
        raise Misuse(
            f"a column of {column.dtype} holds 53 bits of a number, so its IDs may be damaged; "
            "read it again with an integer type"
        )
    values, fits = arrays.checked(column, codec.limit)
    if not fits.all():
        codec.encode_array(column)  # raises for the first that does not fit
    return values, missing


def _filled(ids: Any) -> tuple[Any, NDArray[Any] | None]:
    """A column with 0 where a value is missing, and where that is."""
    if str(getattr(ids, "dtype", "")) in {"Int128", "UInt128"}:  # numpy has no such type
        return ids.to_list(), None
    missing = None
    if hasattr(ids, "filled"):  # a masked array of numpy
        ids, missing = ids.filled(0), np.ma.getmaskarray(ids)
    elif hasattr(ids, "isna"):  # pandas
        missing = np.asarray(ids.isna())
        ids = ids.fillna(0) if missing.any() and _fillable(ids.dtype) else ids
    elif hasattr(ids, "fill_null"):  # Polars and Arrow
        missing = np.asarray(ids.is_null())
        kind = ids.dtype if hasattr(ids, "dtype") else ids.type
        ids = ids.fill_null(0) if missing.any() and _fillable(kind) else ids
    return ids, missing if missing is not None and missing.any() else None


def _fillable(kind: object) -> bool:
    """Whether a column of a type may hold integers."""
    return "int" in str(kind).lower() or str(kind) == "object"


def _listed(
    ids: Any, codec: Codec, missing: NDArray[Any] | None
) -> tuple[list[int], NDArray[Any] | None]:
    """Valid numbers, with 0 for None."""
    try:
        numbers = list(ids)
    except TypeError:
        raise Misuse(f"expected a column of IDs or an iterable, not {type(ids).__name__}") from None
    gaps = [n is None for n in numbers]
    valid = each(lambda n: 0 if n is None else codec.checked(n), numbers)
    return valid, np.asarray(gaps) if any(gaps) else missing


def values_of(ids: NDArray[Any], positions: Sequence[int]) -> NDArray[np.int64]:
    """The field values of IDs, as int64. Raises LayoutError (index) for one of over 63 bits."""
    segments = segments_of(positions)
    small = [segment for segment in segments if segment.target + segment.bits <= 63]
    large = [segment for segment in segments if segment not in small]

    def cut(segment: Segment) -> NDArray[np.uint64]:
        words = ids[("lo", "hi")[segment.source // 64]] if ids.dtype == arrays.WIDE else ids
        part: NDArray[np.uint64] = words >> np.uint64(segment.source % 64)
        return part & np.uint64(segment.mask)

    whole = assembled(small, cut, lambda part, by: part << np.uint64(by))
    values = np.ascontiguousarray(whole).view(np.int64)
    for segment in large:  # like the upper bits of time:71, zero for the next million years
        above, low = cut(segment), max(63 - segment.target, 0)
        if (above >> np.uint64(low)).any():
            first = int((above >> np.uint64(low)).argmax())
            raise LayoutError(
                f"element {first}: the value has more than 63 bits; unpack it alone", index=first
            )
        values |= (above << np.uint64(segment.target)).view(np.int64) if low else 0
    return values


def moments(ticks: NDArray[np.int64], tick_us: int, epoch_us: int) -> NDArray[Any]:
    """Ticks as datetime64 in µs, UTC. Raises LayoutError (index) past its end."""
    last = (_MOST - max(epoch_us, 0)) // tick_us
    if len(ticks) and ticks.max() > last:
        first = int((ticks > last).argmax())
        raise LayoutError(f"element {first}: its moment is after the last datetime64", index=first)
    column: NDArray[Any] = (ticks * tick_us + epoch_us).view("datetime64[us]")
    return column


def moments_us(column: Any) -> NDArray[np.int64]:
    """Moments of a column of any library, or of an iterable of datetimes, as µs since 1970.

    A moment without a time zone is UTC; of shorter parts than a µs, the µs in which it is. Integers
    are µs. Raises Misuse (index) for a missing value and for other types.
    """
    if hasattr(column, "columns") or not hasattr(column, "__iter__") or isinstance(column, str):
        raise Misuse(f"expected a column of moments, not {brief(column)}")
    dtype = getattr(column, "dtype", None)
    if hasattr(column, "isna") and (unit := _PANDAS_UNIT.match(str(dtype))):
        column = column.to_numpy(f"datetime64[{unit[1].replace('day', 'D')}]")
    if np.ma.isMA(column) and np.ma.getmaskarray(column).any():
        raise _missing(np.ma.getmaskarray(column))
    given = np.asarray(column) if hasattr(column, "__array__") else np.empty(0, object)
    if given.dtype.kind == "O":
        return np.array([_us(i, when) for i, when in enumerate(column)], np.int64)
    if given.ndim == 1 and not given.size:
        return np.empty(0, np.int64)
    if given.dtype.kind in "iu" and given.ndim == 1:
        return given.astype(np.int64)
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise _missing(np.isnan(given))
    if given.dtype.kind != "M" or given.ndim != 1:
        raise Misuse(f"expected moments, a column of timestamps, not of {given.dtype}")
    if np.isnat(given).any():
        raise _missing(np.isnat(given))
    try:
        us = given.astype("datetime64[us]", copy=False)
        finer = np.datetime_data(given.dtype)[0] in ("ns", "ps", "fs", "as")
        whole = us is given or finer or np.array_equal(us.astype(given.dtype), given)
    except OverflowError:  # numpy 2.5; the versions before it cut the moments
        whole = False
    if not whole:
        raise Misuse(f"expected moments that fit 64 bits of µs, not all of {given.dtype}")
    return us.view(np.int64)


def _missing(which: NDArray[np.bool_]) -> Misuse:
    index = int(which.argmax())
    return Misuse(f"element {index} has no moment; drop or fill missing values", index=index)


def _us(index: int, when: Any) -> int:
    """One moment of a column of objects, in µs since 1970."""
    us = None
    if isinstance(when, np.datetime64) and not np.isnat(when):
        us = int(moments_us(np.array([when]))[0])
    elif isinstance(when, int | np.integer) and not isinstance(when, bool):
        us = int(when)
    elif isinstance(when, datetime) and when == when:  # noqa: PLR0124 - NaT of pandas is not
        us = to_us(when)
    if us is None:
        raise Misuse(
            f"element {index} is not a moment, but {brief(when)}; give a datetime, or µs since "
            "1970, and drop or fill missing values",
            index=index,
        )
    if not -(1 << 63) <= us < 1 << 63:
        raise Misuse("expected moments as ints of µs since 1970, of 64 bits")
    return us


def with_gaps(columns: dict[str, NDArray[Any]], missing: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Columns of values with NaT, or a mask, where the ID is missing."""
    return {
        name: np.where(missing, np.array("NaT", column.dtype), column)
        if column.dtype.kind == "M"
        else np.ma.array(column, mask=missing)
        for name, column in columns.items()
    }
