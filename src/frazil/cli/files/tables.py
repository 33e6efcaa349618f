"""Rows of text files, as DuckDB reads them: a query with the columns "0", "1", … and their names.

SQL takes ``id`` and ``ID`` for one column, and knows no empty name. So columns have numbers in SQL,
and get their names back in Arrow.

CSV has no types, so its columns are text, and an empty field is an empty text; ``infer`` takes the
types of ``value_types``. The keys of Hive partitions become columns.

DuckDB divides a CSV file among its threads and looks for the begin of a row in each part. Where
fields have line ends in quotes, it loses rows that way, in silence. So a file with a quote is read
by one thread. That loses a last row whose quote is not closed, so quotes are counted before.
"""

from typing import NamedTuple

import duckdb

from frazil.cli.files.csv_head import CsvHead, read_head
from frazil.cli.files.formats import check_keys, hive_keys
from frazil.cli.files.json_types import json_columns
from frazil.cli.files.places import fault
from frazil.cli.files.reading import Reading, printable
from frazil.cli.files.streams import Source
from frazil.cli.files.value_types import infer_types
from frazil.errors import ConfigError

__all__ = [
    "Table",
    "column",
    "csv_heads",
    "csv_rows",
    "csv_table",
    "has_quotes",
    "json_rows",
    "json_table",
    "literal",
]

_LINE_BYTES = 16 << 20
_FIELD_BYTES = 16  # of Arrow, beside its text


class Table(NamedTuple):
    """A query, the names of its columns, and about how many bytes a row has.

    plain: whether it is CSV without a quote, so that no field needs one.
    """

    query: str
    names: list[str]
    row_bytes: int
    plain: bool = False


def column(i: int) -> str:
    """A column in SQL."""
    return f'"{i}"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def _options(reading: Reading, files: list[str]) -> str:
    """The files and what is known of all of them, as arguments of a function that reads them."""
    packings = set()
    for file in files:
        with Source(file) as source:
            packings.add(source.packing() or "none")
    packing = packings.pop() if len(packings) == 1 else "auto"
    hive = str(bool(hive_keys(*reading.files))).lower()
    return (
        f"[{', '.join(map(literal, files))}], hive_partitioning = {hive}, compression = '{packing}'"
    )


def csv_heads(reading: Reading) -> list[CsvHead]:
    """The beginning of each file. Raises ConfigError if they differ."""
    heads = []
    for file in reading.files:
        with reading.open(file) as source:
            head = read_head(
                source, header=reading.header, delimiter=reading.delimiter, skip=reading.skip
            )
        heads.append(head)
        check_keys(file, head.names)
        if (head.names, head.delimiter) != (heads[0].names, heads[0].delimiter):
            raise ConfigError(
                f"{source.name} has another header or delimiter than the first file; stamp it by "
                "itself",
                path=file,
            )
    if any("\udc80" <= letter <= "\udcff" for name in heads[0].names for letter in name):
        raise fault(reading) or ConfigError(f"{reading.files[0]} is not UTF-8")
    return heads


def csv_rows(reading: Reading, heads: list[CsvHead], files: list[str], *, quoted: bool) -> str:
    """The rows of CSV files as a query, with the columns that the files have."""
    count = len(heads[0].names)
    mark = literal(heads[0].delimiter)
    columns = ", ".join(f"{literal(str(i))}: 'VARCHAR'" for i in range(count))
    # In a file of one column a line without anything is no row, and "" is an empty text.
    empty = "allow_quoted_nulls = false"
    if count > 1:
        empty = f"force_not_null = [{', '.join(literal(str(i)) for i in range(count))}]"
    # A line end within the header's quotes would be taken for that of all rows.
    end = heads[0].end and f", new_line = {heads[0].end!r}"
    rows = (
        f"FROM read_csv({_options(reading, files)}, auto_detect = false, columns = {{{columns}}}, "
        f"header = {str(reading.header).lower()}, delim = {mark}, quote = '\"', escape = '\"', "
        f"{empty}{end}, parallel = {str(not quoted).lower()}, "
        f"max_line_size = {reading.memory.line_bytes}, buffer_size = {reading.memory.buffer_bytes})"
    )
    return rows if count > 1 else f'{rows} WHERE "0" IS NOT NULL'


def has_quotes(reading: Reading) -> bool:
    """Whether there are quotes. Raises ConfigError for one that is never closed."""
    found = odd = False
    for file in reading.files:
        with reading.open(file) as source:
            count = sum(block.count(b'"') for block in source.blocks())
        found, odd = found or count > 0, odd or count % 2 > 0
    # An odd number may be right, because a quote within a field is a character.
    if odd and (problem := fault(reading)):
        raise problem
    return found


def csv_table(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    """The rows of CSV files. Raises ConfigError if one is not a table."""
    heads = csv_heads(reading)
    files = [
        reading.plain(file, head.before) for file, head in zip(reading.files, heads, strict=True)
    ]
    names = list(heads[0].names)
    quoted = has_quotes(reading)
    rows = csv_rows(reading, heads, files, quoted=quoted)
    own = [column(i) for i in range(len(names))]
    selected = own
    if reading.infer:
        types = infer_types(database, rows, own)
        selected = [
            each if kind == "VARCHAR" else f"CAST(nullif({each}, '') AS {kind})"
            for each, kind in zip(own, types, strict=True)
        ]
    keys = database.sql(f"{rows} LIMIT 0").columns[len(names) :] if hive_keys(*files) else []
    parts = [*selected, *(f'"{key}"' for key in keys)]
    selection = ", ".join(f"{part} AS {column(i)}" for i, part in enumerate(parts))
    plain = not (quoted or keys)
    row_bytes = heads[0].row_bytes + _FIELD_BYTES * len(names)
    return Table(f"SELECT {selection} {rows}", [*names, *keys], row_bytes, plain)


def json_rows(reading: Reading, files: list[str]) -> str:
    """The rows of JSON Lines as a query, with the column ``json``."""
    return f"FROM read_json_objects({_options(reading, files)}, {_LINES})"


_LINES = f"format = 'newline_delimited', maximum_object_size = {_LINE_BYTES}"


def json_table(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    """The rows of JSON Lines, with the keys of all rows. Raises ConfigError for another row."""
    files = [reading.plain(file) for file in reading.files]
    found = json_columns(database, f"SELECT json {json_rows(reading, files)}")
    first = printable("standard input" if reading.files[0] == "-" else reading.files[0])
    if found is None:
        raise fault(reading) or ConfigError(f"{first}: a row is not a JSON object")
    if not found:
        if not database.execute(f"{json_rows(reading, files)} LIMIT 1").fetchall():
            return Table("SELECT 1 WHERE false", [], 1)
        raise ConfigError(f"{first}: no row has a key; write JSON Lines")
    seen: set[str] = set()
    for name in found:
        if name.lower() in seen or not name:
            what = f"two columns named {name!r}, in upper or lower case" if name else "an empty key"
            raise ConfigError(f"{first} has {what}; rename one, or write JSON Lines", column=name)
        seen.add(name.lower())
    for file in reading.files:
        check_keys(file, found)
    columns = ", ".join(f"{literal(name)}: {literal(kind)}" for name, (kind, _) in found.items())
    rows = f"FROM read_json({_options(reading, files)}, columns = {{{columns}}}, {_LINES})"
    names = database.sql(f"{rows} LIMIT 0").columns
    parts = [_selected(name, *found.get(name, ("", ""))) for name in names]
    selection = ", ".join(f"{part} AS {column(i)}" for i, part in enumerate(parts))
    return Table(f"SELECT {selection} {rows}", list(names), 1 << 10)


def _selected(name: str, read: str, kept: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    return quoted if read == kept else f"CAST({quoted} AS {kept})"
