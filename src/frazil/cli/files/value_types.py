"""The types of columns of text, from all of their values: no value changes, or it stays text.

A sample of rows, as engines take it, is not enough: one later value is then cast to the type of the
others, and ``2.7`` becomes 3. So one pass over all rows asks, for each type, whether it holds every
value; the first one that does is the column's. An integer has no sign but a minus, no leading zero
and no other base. A number is a DOUBLE if the shortest text of the double has all of its digits: an
ID of 19 digits beside ``1.5`` or ``NaN`` does not, and such a column is text.

In JSON Lines a key is a column. Numbers keep their digits at every depth, and a column of mixed
types, or with names that SQL cannot tell apart, keeps its JSON as a text. DuckDB finds the
structure of each row, and then that of one row of each structure: for all rows it would keep them
in memory. Its type for long numbers may be a double, so these are tested as above.
"""

import json
from typing import Any

import duckdb

_INTEGERS = ("BIGINT", "UBIGINT", "DECIMAL(38,0)")
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
        double = f"CAST(TRY_CAST({column} AS DOUBLE) AS VARCHAR)"
        same = f"{_digits(column)} = coalesce({_digits(double)}, '-')"
        tests = {
            "BOOLEAN": f"lower({column}) IN ('true', 'false')",
            **{kind: _has_form(column, _INTEGER, kind) for kind in _INTEGERS},
            "DOUBLE": f"(regexp_full_match({column}, {_NUMBER}) AND {same})",
            **{kind: _has_form(column, form, kind) for kind, form in _FORMS.items()},
        }
        cases = [
            f"WHEN bool_and({test}) FILTER ({column} <> '') THEN '{kind}'"
            for kind, test in tests.items()
        ]
        parts.append(f"CASE {' '.join(cases)} ELSE 'VARCHAR' END")
    return list(database.execute(f"SELECT {', '.join(parts)} FROM ({table})").fetchall()[0])


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
    types: dict[str, str] = {}
    found = {name: _type(each, _path("$", name), types) for name, each in structure.items()}
    if has_long:
        types = _exact(database, rows, list(types))
        found = {name: _type(each, _path("$", name), types) for name, each in structure.items()}
    return found


def _path(path: str, name: str) -> str:
    return f'{path}."{name}"'


def _exact(database: duckdb.DuckDBPyConnection, rows: str, paths: list[str]) -> dict[str, str]:
    """The types that hold the numbers at some paths; a text where a name cannot be in a path."""
    known = [path for path in paths if "\\" not in path and path.count('"') == 2 * path.count('."')]
    values = (f"json_extract_string(json, {literal(path)})" for path in known)
    lists = [
        f'unnest({value if "[*]" in path else f"[{value}]"}) AS "{i}"'
        for i, (path, value) in enumerate(zip(known, values, strict=True))
    ]
    table = f"SELECT {', '.join(lists)} FROM ({rows})"
    types = infer_types(database, table, [f'"{i}"' for i in range(len(known))]) if known else []
    return dict.fromkeys(paths, "VARCHAR") | dict(zip(known, types, strict=True))


def _type(structure: Any, path: str, types: dict[str, str]) -> str:
    """The SQL type of a structure; JSON is a text that stays as it is.

    types: those of the numbers, by path; a number that is not there is added.
    """
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
        return types.setdefault(path, "BIGINT" if structure in _JSON_INTEGERS else "DOUBLE")
    return "VARCHAR" if structure == "NULL" else str(structure)
