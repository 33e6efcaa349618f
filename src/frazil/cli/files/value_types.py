"""The types of columns of text, from all of their values: no value changes, or it stays text.

A sample of rows, as engines take it, is not enough: one later value is then cast to the type of the
others, and ``2.7`` becomes 3. So one pass over all rows asks, for each type, whether it holds every
value. The first type that does is the column's:

- integers: no sign but a minus, no leading zero, no other base: BIGINT, UBIGINT, or a decimal of 38
  digits;
- a number is a DOUBLE if each value has all of its digits in the shortest text of the double. An ID
  of 19 digits beside ``1.5`` or ``NaN`` does not, and such a column is text;
- dates, and moments with or without an offset, in the form of ISO 8601.

In JSON Lines a key is a column. A text stays a text, and numbers keep their digits at every depth.
A column of mixed types, or with names that SQL cannot tell apart, keeps its JSON as a text. DuckDB
finds the structure of each row, and then that of one row of each structure: for all rows it would
keep them in memory. Its type for long numbers may be a double, so these are tested as above.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb

_INTEGER = "'0|-?[1-9][0-9]*'"
_NUMBER = "'-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?|-?[Nn]a[Nn]|[-+]?[Ii]nf(inity)?'"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = f"{_DAY}[ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\\.[0-9]{{1,6}})?)?"
_FORMS = {
    "DATE": f"'{_DAY}'",
    "TIMESTAMP": f"'{_TIME}'",
    "TIMESTAMPTZ": f"'{_TIME}(Z|[-+][0-9]{{2}}(:?[0-9]{{2}})?)'",
}
_JSON_INTEGERS = {"BIGINT", "UBIGINT"}
_JSON_NUMBERS = _JSON_INTEGERS | {"HUGEINT", "DOUBLE"}
# A number of this many digits may not be the one that a double holds, or a BIGINT.
_LONG = "[0-9]{16}"


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def infer_types(database: duckdb.DuckDBPyConnection, table: str, columns: list[str]) -> list[str]:
    """The SQL types of columns of texts in a table; an empty text is no value."""
    parts = []
    for column in columns:
        tests = {
            "BOOLEAN": f"lower({column}) IN ('true', 'false')",
            **_number_tests(column),
            **{kind: _has_form(column, form, kind) for kind, form in _FORMS.items()},
        }
        parts.append(_first_that_holds(tests, f"{column} <> ''"))
    return list(database.execute(f"SELECT {', '.join(parts)} FROM ({table})").fetchall()[0])


def _first_that_holds(tests: dict[str, str], condition: str) -> str:
    """The SQL of the first type whose test holds for all values, text if there is none."""
    cases = [
        f"WHEN bool_and({test}) FILTER ({condition}) THEN '{kind}'" for kind, test in tests.items()
    ]
    return f"CASE {' '.join(cases)} ELSE 'VARCHAR' END"


def _number_tests(value: str) -> dict[str, str]:
    """For each type of numbers, the SQL condition that it holds a text without a change."""
    integers = ("BIGINT", "UBIGINT", "DECIMAL(38,0)")
    double = f"CAST(TRY_CAST({value} AS DOUBLE) AS VARCHAR)"
    same = f"{_digits(value)} = coalesce({_digits(double)}, '-')"
    return {
        **{kind: _has_form(value, _INTEGER, kind) for kind in integers},
        "DOUBLE": f"(regexp_full_match({value}, {_NUMBER}) AND {same})",
    }


def _has_form(value: str, form: str, kind: str) -> str:
    return f"(regexp_full_match({value}, {form}) AND TRY_CAST({value} AS {kind}) IS NOT NULL)"


def _digits(value: str) -> str:
    """The digits of a number without its sign, point, exponent, and zeros at both ends."""
    plain = f"regexp_replace(lower({value}), 'e.*|[^0-9]', '', 'g')"
    return f"trim({plain}, '0')"


def json_columns(database: duckdb.DuckDBPyConnection, rows: str) -> dict[str, str] | None:
    """For each key of the rows, a SELECT of their JSON, its SQL type.

    None if a row is not an object; without rows, no key.
    """
    ((text, are_objects, has_long),) = database.execute(
        "SELECT json_structure(concat('[', string_agg(json, ',' ORDER BY nr), ']')) -> '$[0]', "
        "bool_and(json_type(json) = 'OBJECT'), bool_or(long) FROM (SELECT arg_min(json, nr) AS "
        f"json, min(nr) AS nr, bool_or(regexp_matches(json, '{_LONG}')) AS long FROM (SELECT "
        f"json, row_number() OVER () AS nr FROM ({rows})) GROUP BY json_structure(json))"
    ).fetchall()
    if not are_objects:
        return {} if are_objects is None else None
    structure = json.loads(text)
    structure = {} if structure == "JSON" else structure  # the objects are empty
    types = _exact(database, rows, list(_numbers(structure, "$"))) if has_long else {}
    return {name: _type(each, _path("$", name), types) for name, each in structure.items()}


def _path(path: str, name: str) -> str:
    return f'{path}."{name}"'


def _numbers(structure: Any, path: str) -> Iterator[str]:
    """The paths of the numbers in a structure."""
    if isinstance(structure, dict):
        for name, each in structure.items():
            yield from _numbers(each, _path(path, name))
    elif isinstance(structure, list) and structure:
        yield from _numbers(structure[0], f"{path}[*]")
    elif structure in _JSON_NUMBERS:
        yield path


def _exact(database: duckdb.DuckDBPyConnection, rows: str, paths: list[str]) -> dict[str, str]:
    """The types that hold the numbers at some paths; a text where a name cannot be in a path."""
    known = [path for path in paths if "\\" not in path and path.count('"') == 2 * path.count('."')]
    types = dict.fromkeys(paths, "VARCHAR")
    parts = []
    for path in known:
        text = f"json_extract_string(json, {literal(path)})"
        values = text if "[*]" in path else f"[{text}]"
        tests = {
            kind: f"coalesce(list_bool_and(list_transform({values}, lambda x: x IS NULL OR {test}))"
            ", true)"
            for kind, test in _number_tests("x").items()
        }
        parts.append(_first_that_holds(tests, "true"))
    if known:
        (row,) = database.execute(f"SELECT {', '.join(parts)} FROM ({rows})").fetchall()
        types |= dict(zip(known, row, strict=True))
    return types


def _type(structure: Any, path: str, types: dict[str, str]) -> str:
    """The SQL type of a structure; JSON is a text that stays as it is."""
    if isinstance(structure, dict):
        if len({name.lower() for name in structure}) < len(structure) or "" in structure:
            return "JSON"
        inner = ", ".join(
            f"{quoted(name)} {_type(each, _path(path, name), types)}"
            for name, each in structure.items()
        )
        return f"STRUCT({inner})" if inner else "JSON"
    if isinstance(structure, list):
        return f"{_type(structure[0], f'{path}[*]', types)}[]" if structure else "JSON"
    if structure in _JSON_NUMBERS:
        return types.get(path, "BIGINT" if structure in _JSON_INTEGERS else "DOUBLE")
    return "VARCHAR" if structure == "NULL" else str(structure)
