"""The columns of JSON Lines and their types, from all rows.

A key is a column. A text stays a text. Numbers keep their digits (see ``value_types``), at every
depth: an integer of any size and a fraction in one column are a DOUBLE only if that holds both. A
column of mixed types, or with names that SQL cannot tell apart, keeps its JSON as a text.

DuckDB finds the structure of each row. Its own function for all rows keeps them in memory, and its
type for an integer beside a fraction is a double, so the structures are joined here.
"""

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

import duckdb

from frazil.cli.files.value_types import number_tests, number_type

__all__ = ["json_columns"]

_INTEGERS = {"BIGINT", "UBIGINT"}
_NUMBERS = _INTEGERS | {"DOUBLE", "NUMBER"}
# A number of this many digits may not be the one that a double holds, or a BIGINT.
_LONG = "[0-9]{16}"


Columns = dict[str, tuple[str, str]]


def json_columns(database: duckdb.DuckDBPyConnection, rows: str) -> Columns | None:
    """For each key of the rows, a SELECT of their JSON, the SQL types to read and to keep.

    They differ where JSON is kept as text. None if a row is not an object; without rows, no key.
    """
    found = database.execute(
        f"SELECT structure, bool_or(long) FROM (SELECT json_structure(json) AS structure, "
        f"regexp_matches(json, '{_LONG}') AS long, row_number() OVER () AS nr FROM ({rows})) "
        "GROUP BY structure ORDER BY min(nr)"
    ).fetchall()
    if not found:
        return {}
    structure = reduce(_joined, (json.loads(text) for text, _ in found))
    structure = {} if structure == "JSON" else structure
    if not isinstance(structure, dict):
        return None
    types: dict[str, str] = {}
    if any(long for _, long in found):
        types = _exact(database, rows, list(_numbers(structure, "$")))
    return {
        name: (
            _type(each, _path("$", name), types, "JSON"),
            _type(each, _path("$", name), types, "VARCHAR"),
        )
        for name, each in structure.items()
    }


def _joined(one: Any, other: Any) -> Any:
    """The structure of rows of two structures."""
    if other in (one, "NULL"):
        return one
    if one == "NULL":
        return other
    one, other = (({} if each == "JSON" else each) for each in (one, other))  # an empty object
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: _joined(one.get(key, "NULL"), each) for key, each in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [reduce(_joined, one + other)] if one + other else []
    if isinstance(one, str) and isinstance(other, str) and {one, other} <= _NUMBERS:
        return "BIGINT" if {one, other} <= _INTEGERS else "NUMBER"
    return "MIXED"


def _path(path: str, name: str) -> str:
    return f'{path}."{name}"'


def _numbers(structure: Any, path: str) -> Iterator[str]:
    """The paths of the numbers in a structure."""
    if isinstance(structure, dict):
        for name, each in structure.items():
            yield from _numbers(each, _path(path, name))
    elif isinstance(structure, list) and structure:
        yield from _numbers(structure[0], f"{path}[*]")
    elif structure in _NUMBERS:
        yield path


def _exact(database: duckdb.DuckDBPyConnection, rows: str, paths: list[str]) -> dict[str, str]:
    """The types that hold the numbers at some paths; a text where a name cannot be in a path."""
    known = [path for path in paths if "\\" not in path and path.count('"') == 2 * path.count('."')]
    types = dict.fromkeys(paths, "VARCHAR")
    if known:
        parts = []
        for path in known:
            text = f"json_extract_string(json, '{path.replace(chr(39), 2 * chr(39))}')"
            values = text if "[*]" in path else f"[{text}]"
            parts += [
                f"coalesce(bool_and(list_aggregate(list_transform({values}, "
                f"lambda x: x IS NULL OR {test}), 'bool_and')), true)"
                for test in number_tests("x")
            ]
        (row,) = database.execute(f"SELECT {', '.join(parts)} FROM ({rows})").fetchall()
        for i, path in enumerate(known):
            types[path] = number_type(row[4 * i : 4 * i + 4])
    return types


def _type(structure: Any, path: str, types: dict[str, str], mixed: str) -> str:
    """The SQL type of a structure; ``mixed`` is that of what keeps its JSON."""
    if isinstance(structure, dict):
        if len({name.lower() for name in structure}) < len(structure) or "" in structure:
            return mixed
        inner = ", ".join(
            f'"{name.replace(chr(34), chr(34) * 2)}" {_type(each, _path(path, name), types, mixed)}'
            for name, each in structure.items()
        )
        return f"STRUCT({inner})" if inner else mixed
    if isinstance(structure, list):
        return f"{_type(structure[0], f'{path}[*]', types, mixed)}[]" if structure else mixed
    if structure in _NUMBERS:
        usual = "BIGINT" if structure in _INTEGERS else "DOUBLE"
        return types.get(path, usual)
    return {"NULL": "VARCHAR", "JSON": mixed, "MIXED": mixed}.get(structure, str(structure))
