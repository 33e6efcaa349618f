"""Whether a value of a typed table is what a text of CSV or JSON means."""

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
EPOCH = dt.date(1970, 1, 1)


def listed(column: Any) -> list[Any]:
    """The values of a column; moments, times of day and durations in ns."""
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        return [
            value
            for chunk in column.chunks
            for value in pa.compute.run_end_decode(chunk).to_pylist()
        ]
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind) or pa.types.is_duration(kind):
        wide = pa.int32() if kind.bit_width == 32 else pa.int64()
        numbers = column.cast(wide).to_pylist()
        return [None if n is None else n * UNIT_NS[kind.unit] for n in numbers]
    if pa.types.is_map(kind):
        return [None if value is None else dict(value) for value in column.to_pylist()]
    return list(column.to_pylist())


def ns_of(text: str) -> int:
    """The moment, or the time of a day, that a text means."""
    day, _, clock = text.rpartition(" ")
    clock, plus, zone = clock.partition("+")
    assert zone == ("00" if plus else "")
    seconds, _, fraction = clock.partition(".")
    hours, minutes, second = map(int, seconds.split(":"))
    ns = (hours * 3600 + minutes * 60 + second) * 10**9 + int((fraction or "0").ljust(9, "0"))
    if not day:
        return ns
    return (dt.date.fromisoformat(day) - EPOCH).days * 86_400 * 10**9 + ns


def same(value: Any, found: Any, kind: Any, *, in_csv: bool) -> bool:
    """Whether a value of a type is what JSON or a field of CSV holds."""
    types = pa.types
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_struct(kind) or types.is_map(kind):
        return same_nested(value, json.loads(found) if in_csv and found else found, kind)
    if value is None:
        return found == "" if in_csv else found is None
    if types.is_floating(kind):
        if in_csv:
            return math.isnan(float(found)) if math.isnan(value) else float(found) == value
        return (
            found is None if not math.isfinite(value) else pa.scalar(found, kind).as_py() == value
        )
    if types.is_decimal(kind):
        return Decimal(found) == value
    if types.is_timestamp(kind) or types.is_time(kind):
        return ns_of(found) == value
    if types.is_duration(kind):
        return ns_of(found.removeprefix("-")) * (-1 if found.startswith("-") else 1) == value
    if types.is_date(kind):
        return found == value.isoformat()
    if in_csv and types.is_boolean(kind):
        return found == str(value).lower()
    if in_csv and types.is_integer(kind):
        return found == str(value)
    return type(found) is type(value) and found == value


def same_nested(value: Any, found: Any, kind: Any) -> bool:
    if value is None:
        return found is None or found == ""
    if pa.types.is_list(kind):
        pairs = zip(value, found, strict=True)
        return all(same(one, other, kind.value_type, in_csv=False) for one, other in pairs)
    if pa.types.is_map(kind):
        return value.keys() == found.keys() and all(
            same(value[key], found[key], kind.item_type, in_csv=False) for key in value
        )
    return value.keys() == found.keys() and all(
        same(value[name], found[name], kind.field(name).type, in_csv=False) for name in value
    )
