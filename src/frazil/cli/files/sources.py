"""The column of an audit, as DuckDB reads it: numbers, texts, and what is neither.

A source is a query with the columns ``n`` (a number), ``t`` (a text), ``raw`` (the value as text)
and ``kind`` (its type, where it is neither). Rows are in the order of the file.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from frazil.cli.files.reading import Reading, printable
from frazil.cli.files.tables import column as quoted_number
from frazil.cli.files.tables import csv_heads, csv_rows, has_quotes, json_rows, literal
from frazil.errors import ConfigError

__all__ = ["Source", "open_source"]

_UUID_BYTES = 16
_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "hugeint"}
_DIGITS = "'[0-9]+'"


class Source(NamedTuple):
    """A query, and whether its rows are ``line``, ``row``, or rows whose lines are found later."""

    query: str
    unit: str


def open_source(
    reading: Reading, column: str, database: duckdb.DuckDBPyConnection, number: int
) -> Source:
    """A column of a file. Raises ConfigError if the file has no such column, or two of them."""
    file = reading.files[0]
    if reading.kind == "text":
        return Source(_of_texts('"0"', _text_rows(reading)), "line")
    if reading.kind == "csv":
        heads = csv_heads(reading)
        hint = ", or use --no-header if its first line is a row"
        at = _index(heads[0].names, column, _name(file), hint)
        files = [reading.plain(file, heads[0].before)]
        rows = csv_rows(reading, heads, files, quoted=has_quotes(reading))
        return Source(_of_texts(quoted_number(at), rows), "")
    if reading.kind == "jsonl":
        pointer = literal("/" + column.replace("~", "~0").replace("/", "~1"))
        rows = json_rows(reading, [reading.plain(file)])
        return Source(
            "SELECT CASE WHEN kind <> 'VARCHAR' AND regexp_full_match(raw, "
            f"{_DIGITS}) THEN TRY_CAST(raw AS UHUGEINT) END AS n, "
            "CASE WHEN kind = 'VARCHAR' THEN raw END AS t, raw, lower(kind) AS kind FROM ("
            "SELECT json_type(value) AS kind, CASE WHEN json_type(value) <> 'NULL' THEN "
            "json_extract_string(value, '$') END AS raw FROM (SELECT CASE WHEN "
            f"starts_with(json, '{{') THEN json_extract(json, {pointer}) "
            f"ELSE error('not an object') END AS value {rows}))",
            "",
        )
    if reading.kind == "arrow":
        return _arrow(reading, column, database, number)
    path = literal(reading.plain(file))
    try:
        schema = database.execute(
            f"SELECT name, num_children, type_length FROM parquet_schema({path})"
        ).fetchall()
    except duckdb.Error as error:
        raise ConfigError(f"{file} is not Parquet: {error}", path=file) from None
    own = list(_children(schema))
    at = _index([name for name, _ in own], column, file)
    rows = f"FROM read_parquet({path}, hive_partitioning = false)"
    found = database.sql(f"{rows} LIMIT 0")
    name = '"' + found.columns[at].replace('"', '""') + '"'
    return Source(_of_type(name, found.types[at], rows, uuid=own[at][1] == _UUID_BYTES), "row")


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _index(names: Sequence[str], column: str, name: str, hint: str = "") -> int:
    if column not in names:
        raise ConfigError(
            f"{name} has no column {column!r}; choose one of "
            f"{', '.join(map(printable, names))} with --column{hint}",
            column=column,
        )
    if list(names).count(column) > 1:
        raise ConfigError(
            f"{name} has two columns {column!r}; rename the one without the IDs", column=column
        )
    return names.index(column)


def _text_rows(reading: Reading) -> str:
    path = literal(reading.plain(reading.files[0]))
    return (
        f"FROM read_csv([{path}], auto_detect = false, columns = {{'0': 'VARCHAR'}}, "
        "header = false, delim = '\x01', quote = '', escape = '', "
        f"max_line_size = {reading.memory.line_bytes}, buffer_size = {reading.memory.buffer_bytes})"
    )


def _of_texts(name: str, rows: str) -> str:
    return f"SELECT NULL::UBIGINT AS n, {name} AS t, {name} AS raw, '' AS kind {rows}"


def _children(schema: Sequence[Any]) -> Any:
    """The columns of Parquet and the lengths of their values, without the parts of nested ones."""
    inside = 0
    for name, children, length in schema[1:]:
        if not inside:
            yield name, None if children or length is None else int(length)
        inside += (children or 0) - bool(inside)


def _of_type(name: str, kind: Any, rows: str, *, uuid: bool) -> str:
    number, text, raw = "NULL::UBIGINT", "NULL::VARCHAR", f"CAST({name} AS VARCHAR)"
    if kind.id.lstrip("u") in _INTEGERS or kind.id in _INTEGERS:
        number = name
    elif kind.id == "decimal" and str(kind).endswith(",0)"):
        number = f"CAST({name} AS HUGEINT)"
    elif kind.id in ("varchar", "enum", "uuid"):
        text = raw
    elif kind.id == "blob":
        text = f"CAST(CAST(hex({name}) AS UUID) AS VARCHAR)" if uuid else f"TRY(decode({name}))"
    return f"SELECT {number} AS n, {text} AS t, {raw} AS raw, {literal(str(kind))} AS kind {rows}"


def _arrow(
    reading: Reading, column: str, database: duckdb.DuckDBPyConnection, number: int
) -> Source:
    """A column of an Arrow file, which only pyarrow reads."""
    import pyarrow as pa

    from frazil.cli.files.arrow_files import opened

    file = reading.files[0]
    names = opened("arrow", file).schema.names
    at = _index(names, column, file)
    kind = opened("arrow", file).schema.field(at).type
    view = f"arrow_{number}"

    class Again:
        """Is read from its beginning by each query."""

        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            one = opened("arrow", file)
            schema = pa.schema([pa.field("v", kind)])
            batches = (
                (one.get_batch(i) for i in range(one.num_record_batches))
                if isinstance(one, pa.ipc.RecordBatchFileReader)
                else one
            )
            some = (
                pa.RecordBatch.from_arrays([each.column(at)], schema=schema) for each in batches
            )
            return pa.RecordBatchReader.from_batches(schema, some).__arrow_c_stream__(requested)

    database.register(view, Again())
    uuid = pa.types.is_fixed_size_binary(kind) and kind.byte_width == _UUID_BYTES
    rows = f"FROM {view}"
    (found,) = database.sql(f"{rows} LIMIT 0").types
    return Source(_of_type("v", found, rows, uuid=uuid), "row")
