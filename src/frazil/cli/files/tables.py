"""Rows of files, as DuckDB reads them: a query with the columns "0", "1", … and their names.

SQL takes ``id`` and ``ID`` for one column, and knows no empty name. So columns have numbers in SQL,
and get their names back in Arrow. CSV has no types: its columns are text, an empty field is an
empty text, and ``infer`` takes the types of ``value_types``.

Several threads of DuckDB lose rows where a line end is in quotes, and one thread a last row whose
quote is not closed. So a file with a quote is read by one thread, and quotes are counted.
"""

from collections.abc import Sequence
from glob import escape
from itertools import groupby
from typing import NamedTuple

from frazil.cli.files.csv_head import CsvHead
from frazil.cli.files.database import fault, text_problem
from frazil.cli.files.formats import hive_keys, shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Source
from frazil.cli.files.value_types import infer_types, json_columns, literal
from frazil.errors import ConfigError

_TEXT = "VARCHAR"
_LINE_BYTES = 16 << 20
_LINES = f"format = 'newline_delimited', maximum_object_size = {_LINE_BYTES}"


class Table(NamedTuple):
    """A query, and the names of its columns."""

    query: str
    names: list[str]


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
        types = zip(own, infer_types(reading.database, query, own), strict=True)
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
    if (odd or text_problem("".join(first.names))) and (found := fault(reading)):
        raise found
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
    """With the keys of all rows."""
    objects = json_rows(reading)
    found = json_columns(reading.database, f"SELECT json {objects}")
    first = shown(reading.files[0])
    if found is None:
        raise fault(reading) or ConfigError(f"{first}: a row is not a JSON object")
    if not found:
        if not reading.database.execute(f"{objects} LIMIT 1").fetchall():
            return Table("SELECT 1 WHERE false", [])
        raise ConfigError(f"{first}: no row has a key; write JSON Lines")
    lower = [name.lower() for name in found]
    for i, name in enumerate(found):
        if not name or lower[i] in lower[:i]:
            what = f"two columns named {name!r}, in upper or lower case" if name else "an empty key"
            raise ConfigError(f"{first} has {what}; rename one, or write JSON Lines", column=name)
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in found.items())
    rows = _rows(reading, "read_json", f"columns = {{{columns}}}, {_LINES}")
    return _table(reading, list(found), rows)
