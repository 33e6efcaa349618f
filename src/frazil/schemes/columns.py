"""Columns of IDs and what is in them, for numpy, pandas, Polars and Arrow.

A column comes in many types, and two of them damage IDs without an error: float64, which has 53
bits for a number, and a column with missing values, which numpy gets as float64. So a column is
read here, in one place, and refused if its IDs cannot be exact. The kernels are those of
``frazil.schemes.arrays``.

Limits: a value of more than 63 bits, and a moment outside datetime64 in µs, is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from frazil.errors import CodecError, ConfigError, LayoutError, Misuse, brief
from frazil.schemes import arrays
from frazil.schemes.segments import assembled, segments_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from frazil.schemes.codec import Codec

_MOST = (1 << 63) - 1


def array_dtype(name: object, scheme: str, id_max: int) -> str:
    """See Scheme.array_dtype."""
    kind = getattr(name, "__name__", None) or getattr(name, "name", None) or name
    if kind not in ("uint64", "int64"):
        raise ConfigError(
            f"dtype={brief(name)} does not hold IDs; use 'uint64', or 'int64' for signed columns",
            value=name,
        )
    if kind == "int64" and id_max > _MOST:
        raise ConfigError(
            f"int64 holds 0 to {_MOST}, and IDs of scheme {scheme!r} go up to {id_max}; use "
            "'uint64', the text form, or a scheme that fits a BIGINT",
            value=id_max,
            limit=_MOST,
        )
    return str(kind)


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
    column = arrays.as_array(ids) if hasattr(ids, "__array__") else None
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
        ids, missing = ids.filled(0), arrays.mask_of(ids)
    elif hasattr(ids, "isna"):  # pandas
        missing = arrays.as_array(ids.isna())
        ids = ids.fillna(0) if missing.any() and _fillable(ids.dtype) else ids
    elif hasattr(ids, "fill_null"):  # Polars and Arrow
        missing = arrays.as_array(ids.is_null())
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
    for i, n in enumerate(numbers):
        try:
            numbers[i] = 0 if n is None else codec.checked(n)
        except CodecError as error:
            raise CodecError(f"element {i}: {error}", index=i, **error.facts) from None
    return numbers, arrays.as_array(gaps) if any(gaps) else missing


def texts_of(texts: Any) -> Any:
    """Texts of any library's column, for ``Codec.decode_array``."""
    return arrays.as_array(texts) if hasattr(texts, "__array__") else texts


def values_of(ids: NDArray[Any], positions: Sequence[int]) -> NDArray[np.int64]:
    """The field values of IDs, as int64. Raises LayoutError (index) for one of over 63 bits."""
    segments = segments_of(positions)
    small = [segment for segment in segments if segment.target + segment.bits <= 63]
    large = [segment for segment in segments if segment not in small]
    values: NDArray[np.int64] = arrays.signed(
        assembled(small, lambda each: arrays.cut(ids, *each[::2]), arrays.moved)
    )
    for segment in large:  # like the upper bits of time:71, zero for the next million years
        above = arrays.cut(ids, segment.source, segment.bits)
        low = max(63 - segment.target, 0)
        if (above >> arrays.word(low)).any():
            first = int((above >> arrays.word(low)).argmax())
            raise LayoutError(
                f"element {first}: the value has more than 63 bits; unpack it alone", index=first
            )
        values |= arrays.signed(arrays.moved(above, segment.target)) if low else 0
    return values


def moments(ticks: NDArray[np.int64], tick_us: int, epoch_us: int) -> NDArray[Any]:
    """Ticks as datetime64 in µs, UTC. Raises LayoutError (index) past its end."""
    last = (_MOST - max(epoch_us, 0)) // tick_us
    if len(ticks) and ticks.max() > last:
        first = int((ticks > last).argmax())
        raise LayoutError(f"element {first}: its moment is after the last datetime64", index=first)
    column: NDArray[Any] = (ticks * tick_us + epoch_us).view("datetime64[us]")
    return column


def with_gaps(columns: dict[str, NDArray[Any]], missing: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Columns of values with NaT, or a mask, where the ID is missing."""
    return {name: arrays.masked(column, missing) for name, column in columns.items()}
