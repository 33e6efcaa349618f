"""Rows of files, as DuckDB reads them: a query with the columns "0", "1", … and their names.

SQL takes ``id`` and ``ID`` for one column, and knows no empty name. So columns have numbers in SQL,
and get their names back in Arrow. A file of CSV with a quote is read by one thread, because several
lose rows where a line end is in quotes.

No value changes with its type, or the column stays text: one pass over all rows asks, for each
type, whether it holds every value, and the first one that does is the column's. A number is a
DOUBLE if the shortest text of the double has all of its digits: an ID of 19 digits beside ``1.5``
or ``NaN`` does not.

In JSON Lines a key is a column. Numbers keep their digits at every depth, and a column of mixed
types, or with names that SQL cannot tell apart, keeps its JSON as a text. DuckDB finds the
structure of each row, and then that of one row of each structure: for all rows it would keep them
in memory. Its type for long numbers may be a double, so these are tested as above.
"""

import json
from collections.abc import Sequence
from glob import escape
from itertools import groupby
from typing import Any, NamedTuple

import duckdb

from frazil.cli.files.database import check_text, text_problem
from frazil.cli.files.paths import hive_keys, shown
from frazil.cli.files.reading import CsvHead, Reading, Source
from frazil.errors import ConfigError
from frazil.sql.parts import quoted

_TEXT = "VARCHAR"
_LINE_BYTES = 16 << 20
_LINES = f"format = 'newline_delimited', maximum_object_size = {_LINE_BYTES}"
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
_JSON_NUMBERS = {"BIGINT": "BIGINT", "UBIGINT": "BIGINT", "HUGEINT": "DOUBLE", "DOUBLE": "DOUBLE"}
# A number of this many digits may not be the one that a double holds, or a BIGINT.
_LONG = "[0-9]{16}"


class Table(NamedTuple):
    """A query, and the names of its columns."""

    query: str
    names: list[str]


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def column(i: int) -> str:
    """A column in SQL."""
    return f'"{i}"'


def numbered(rows: str, count: int) -> str:
    """Rows with numbers for names."""
    return f"{rows} AS rows({', '.join(map(column, range(count)))})"


def table_of(reading: Reading) -> Table:
    """The rows of text files, or of Parquet whose columns differ. Raises ConfigError for others."""
    if reading.kind == "csv":
        return _csv_table(reading)
    if reading.kind == "jsonl":
        return _json_table(reading)
    if reading.kind == "text":
        rows = _csv_rows(reading, 1, "\x01", "quote = '', escape = '', header = false")
        return _table(reading, ["0"], rows)
    rows = _rows(reading, "read_parquet", "union_by_name = true")
    own = _rows(reading, "read_parquet", "union_by_name = true", hive=False)
    return _table(reading, reading.database.sql(f"{own} LIMIT 0").columns, rows)


def _table(reading: Reading, names: Sequence[str], rows: str) -> Table:
    """The rows with numbers for names, and with the keys of folders.

    Raises ConfigError if a column is also a key.
    """
    if reading.keys:
        known = {name.lower() for name in names}
        for file, key in [(each, key) for each in reading.files for key in hive_keys(each)]:
            if key.lower() in known:
                problem = f"{file} has a column {key!r}, and the folder '{key}=...' above it would"
                end = "replace its values; rename the folder or the column"
                raise ConfigError(f"{problem} {end}", path=file)
        names = [*names, *reading.database.sql(f"{rows} LIMIT 0").columns[len(names) :]]
    return Table(numbered(f"FROM ({rows})", len(names)), list(names))


def _rows(reading: Reading, call: str, options: str, *, hive: bool = True) -> str:
    """The rows of all files. hive: with the keys of folders."""
    hive &= bool(reading.keys)
    calls = []
    sources = map(reading.source, reading.files)
    for packing, some in groupby(sources, Source.packing):  # DuckDB would go by their names
        names = ", ".join(literal(escape(source.path)) for source in some)
        own = "" if call == "read_parquet" else f", compression = '{packing or 'none'}'"
        calls.append(f"FROM {call}([{names}], hive_partitioning = {hive}{own}, {options})")
    return calls[0] if len(calls) == 1 else f"FROM ({' UNION ALL '.join(calls)})"


# --- CSV


def _csv_table(reading: Reading) -> Table:
    head = _csv_head(reading)
    count = len(head.names)
    # In a file of one column a line without anything is no row, and "" is an empty text.
    empty = "allow_quoted_nulls = false"
    if count > 1:
        empty = f"force_not_null = [{', '.join(literal(f'/{i}') for i in range(count))}]"
    options = f"quote = '\"', escape = '\"', {empty}, header = {reading.header}"
    if head.end:  # one within the header's quotes would be taken for that of all rows
        options += f", new_line = {head.end!r}"
    options += f", parallel = {reading.rows is not None}"
    rows = _csv_rows(reading, count, head.delimiter, options)
    query, names = _table(
        reading, head.names, rows if count > 1 else f'{rows} WHERE "/0" IS NOT NULL'
    )
    if reading.infer:
        own = [column(i) for i in range(count)]
        types = zip(own, _infer_types(reading.database, query, own), strict=True)
        casts = ", ".join(
            f"CAST(nullif({each}, '') AS {kind}) AS {each}" for each, kind in types if kind != _TEXT
        )
        query = f"SELECT * {casts and f'REPLACE ({casts})'} {query}"
    return Table(query, names)


def _csv_head(reading: Reading) -> CsvHead:
    """The head of all files. Raises ConfigError if they differ, or a quote is never closed."""
    sources = [reading.source(file) for file in reading.files]
    first = sources[0].head
    for source in sources:
        if (source.head.names, source.head.delimiter) != (first.names, first.delimiter):
            problem = "has another header or delimiter than the first file; stamp it by itself"
            raise source.error(f"{shown(source.file)} {problem}")
    # An odd number may be right, because a quote within a field is a character.
    odd = any(source.quotes % 2 for source in sources)
    if odd or text_problem("".join(first.names)):
        check_text(reading)
    return first


def _csv_rows(reading: Reading, count: int, delimiter: str, options: str) -> str:
    # No folder can have such a name, so that its value would replace the column.
    columns = ", ".join(f"'/{i}': 'VARCHAR'" for i in range(count))
    size = reading.memory.buffer_bytes
    options = (
        f"auto_detect = false, columns = {{{columns}}}, delim = {literal(delimiter)}, {options}, "
        f"max_line_size = {size // 2}, buffer_size = {size}"
    )
    return _rows(reading, "read_csv", options)


# --- JSON Lines


def json_rows(reading: Reading) -> str:
    """The rows of JSON Lines as a query, with the column ``json``."""
    return _rows(reading, "read_json_objects", _LINES)


def _json_table(reading: Reading) -> Table:
    """With the keys of all rows, which must be objects."""
    rows, first = json_rows(reading), shown(reading.files[0])
    ((text, are_objects, has_long),) = reading.database.execute(
        "SELECT json_structure(concat('[', string_agg(json, ',' ORDER BY nr), ']')) -> '$[0]', "
        "bool_and(json_type(json) = 'OBJECT'), bool_or(long) FROM (SELECT arg_min(json, nr) AS "
        f"json, min(nr) AS nr, bool_or(regexp_matches(json, '{_LONG}')) AS long FROM (SELECT "
        f"json, row_number() OVER () AS nr {rows}) GROUP BY json_structure(json))"
    ).fetchall()
    if are_objects is None:  # no row
        return Table("SELECT 1 WHERE false", [])
    if not are_objects:
        check_text(reading)
        raise ConfigError(f"{first}: a row is not a JSON object")
    structure = json.loads(text)
    if structure == "JSON":  # the objects are empty
        raise ConfigError(f"{first}: no row has a key; write JSON Lines")
    types: dict[str, str] = {}
    found = {name: _type(each, _path("$", name), types) for name, each in structure.items()}
    if has_long:
        types = _exact(reading.database, f"SELECT json {rows}", list(types))
        found = {name: _type(each, _path("$", name), types) for name, each in structure.items()}
    lower = [name.lower() for name in found]
    for i, name in enumerate(found):
        if not name or lower[i] in lower[:i]:
            what = f"two columns named {name!r}, in upper or lower case" if name else "an empty key"
            raise ConfigError(f"{first} has {what}; rename one, or write JSON Lines", column=name)
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in found.items())
    table = _rows(reading, "read_json", f"columns = {{{columns}}}, {_LINES}")
    return _table(reading, list(found), table)


# --- types


def _infer_types(database: duckdb.DuckDBPyConnection, table: str, columns: list[str]) -> list[str]:
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
    types = _infer_types(database, table, [f'"{i}"' for i in range(len(known))]) if known else []
    return dict.fromkeys(paths, "VARCHAR") | dict(zip(known, types, strict=True))


def _type(structure: Any, path: str, types: dict[str, str]) -> str:
    """The SQL type of a structure; JSON is a text that stays as it is.

    types: those of the numbers, by path; a number that is not there is added.
    """
    if isinstance(structure, dict):
        different = len({name.lower() for name in structure}) == len(structure)
        if not different or "" in structure or "\0" in "".join(structure):
            return "JSON"
        inner = ", ".join(
            f"{quoted(name)} {_type(each, _path(path, name), types)}"
            for name, each in structure.items()
        )
        return f"STRUCT({inner})" if inner else "JSON"
    if isinstance(structure, list):
        return f"{_type(structure[0], f'{path}[*]', types)}[]" if structure else "JSON"
    if structure in _JSON_NUMBERS:
        return types.setdefault(path, _JSON_NUMBERS[structure])
    return "VARCHAR" if structure == "NULL" else str(structure)
