"""The types of text columns, from all of their values: no value changes, or the column stays text.

A sample of rows, as engines take it, is not enough: one later value is then cast to the type of the
others, and ``2.7`` becomes 3. So one pass over all rows asks, for each type, whether it holds every
value. The first type that does is the column's:

- integers: no sign but a minus, no leading zero, no other base: BIGINT, UBIGINT, or a decimal of 38
  digits;
- a number is a DOUBLE if each value has all of its digits in the shortest text of the double. An ID
  of 19 digits beside ``1.5`` or ``NaN`` does not, and such a column is text;
- dates, and moments with or without an offset, in the form of ISO 8601.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

__all__ = ["infer_types", "number_tests", "number_type"]

_INTEGER = "'0|-?[1-9][0-9]*'"
_NUMBER = "'-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?|-?[Nn]a[Nn]|[-+]?[Ii]nf(inity)?'"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = f"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\\.[0-9]{{1,6}})?)?"
_NUMBERS = ("BIGINT", "UBIGINT", "DECIMAL(38,0)", "DOUBLE")
_FORMS = {
    "DATE": f"'{_DAY}'",
    "TIMESTAMP": f"'{_TIME}'",
    "TIMESTAMPTZ": f"'{_TIME}(Z|[-+][0-9]{{2}}(:?[0-9]{{2}})?)'",
}


def number_tests(value: str) -> list[str]:
    """For each type of numbers, the SQL condition that it holds a text without a change."""
    integer = f"regexp_full_match({value}, {_INTEGER})"
    double = f"CAST(TRY_CAST({value} AS DOUBLE) AS VARCHAR)"
    same = f"{_digits(value)} = coalesce({_digits(double)}, '-')"
    return [
        *(f"({integer} AND TRY_CAST({value} AS {kind}) IS NOT NULL)" for kind in _NUMBERS[:-1]),
        f"(regexp_full_match({value}, {_NUMBER}) AND {same})",
    ]


def _digits(value: str) -> str:
    """The digits of a number without its sign, point, exponent, and zeros at both ends."""
    plain = f"regexp_replace(lower({value}), 'e.*|[^0-9]', '', 'g')"
    return f"trim({plain}, '0')"


def number_type(held: Sequence[bool]) -> str:
    """The first type whose tests hold for all values, text if none does."""
    return next((kind for kind, good in zip(_NUMBERS, held, strict=True) if good), "VARCHAR")


def infer_types(database: duckdb.DuckDBPyConnection, table: str, columns: list[str]) -> list[str]:
    """The SQL types of columns of texts in a table; an empty text is no value."""
    if not columns:
        return []
    parts: list[str] = []
    for column in columns:
        tests = [f"lower({column}) IN ('true', 'false')", *number_tests(column)]
        tests += [
            f"(regexp_full_match({column}, {form}) AND TRY_CAST({column} AS {kind}) IS NOT NULL)"
            for kind, form in _FORMS.items()
        ]
        parts.append(f"count({column})")
        parts += [f"bool_and({column} IS NULL OR {test})" for test in tests]
    values = ", ".join(f"nullif({column}, '') AS {column}" for column in columns)
    (row,) = database.execute(
        f"SELECT {', '.join(parts)} FROM (SELECT {values} FROM ({table}))"
    ).fetchall()
    return [_type_of(row[at : at + 9]) for at in range(0, len(row), 9)]


def _type_of(found: Sequence[Any]) -> str:
    count, boolean, *others = found
    if not count:
        return "VARCHAR"
    if boolean:
        return "BOOLEAN"
    numbers, moments = others[:4], others[4:]
    if (kind := number_type(numbers)) != "VARCHAR":
        return kind
    return next((kind for kind, good in zip(_FORMS, moments, strict=True) if good), "VARCHAR")
