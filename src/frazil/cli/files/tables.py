"""Rows of files, as DuckDB reads them: a query with the columns "0", "1", … and their names.

SQL takes ``id`` and ``ID`` for one column, and knows no empty name. So columns have numbers in SQL,
and get their names back in Arrow.

CSV has no types, so its columns are text, and an empty field is an empty text; ``infer`` takes the
types of ``value_types``. The keys of Hive partitions become columns.

DuckDB divides a CSV file among its threads and looks for the begin of a row in each part. Where
fields have line ends in quotes, it loses rows that way, in silence. So a file with a quote is read
by one thread. That loses a last row whose quote is not closed, so quotes are counted before.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import duckdb

from frazil.cli.files.csv_head import CsvHead
from frazil.cli.files.database import fault, printable
from frazil.cli.files.formats import check_keys, hive_keys, shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.value_types import infer_types, json_columns, literal, quoted
from frazil.errors import ConfigError

_LINE_BYTES = 16 << 20
_FIELD_BYTES = 16  # of Arrow, beside its text
_UUID_BYTES = 16
_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "hugeint"}
_INTEGERS |= {f"u{kind}" for kind in _INTEGERS}
_LINES = f"format = 'newline_delimited', maximum_object_size = {_LINE_BYTES}"


class Table(NamedTuple):
    """A query, the names of its columns, and about how many bytes a row has.

    plain: whether it is CSV without a quote, so that no field needs one. delimiter: that of CSV.
    """

    query: str
    names: list[str]
    row_bytes: int = 1 << 10
    plain: bool = False
    delimiter: str = ","


def column(i: int) -> str:
    """A column in SQL."""
    return f'"{i}"'


def table_of(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    """The rows of text files, or of Parquet whose columns differ. Raises ConfigError for others."""
    if reading.kind == "csv":
        return _csv_table(reading, database)
    if reading.kind == "jsonl":
        return _json_table(reading, database)
    rows = _rows(reading, "read_parquet", "union_by_name = true")
    names = database.sql(f"{rows} LIMIT 0").columns
    return _table(rows, names, map(quoted, names))


def _table(rows: str, names: Sequence[str], parts: Iterable[str], *others: Any) -> Table:
    selected = ", ".join(f"{part} AS {column(i)}" for i, part in enumerate(parts))
    return Table(f"SELECT {selected} {rows}", list(names), *others)


def _rows(reading: Reading, function: str, options: str, before: Sequence[int] = ()) -> str:
    """The rows of all files, without the bytes ``before`` of each."""
    hive = str(bool(hive_keys(*reading.files))).lower()
    calls = []
    files = map(reading.plain, reading.files, before or [0] * len(reading.files))
    for packing, some in groupby(files, lambda each: each[1]):  # DuckDB would go by their names
        names = ", ".join(literal(name) for name, _ in some)
        own = "" if function == "read_parquet" else f", compression = '{packing}'"
        calls.append(f"FROM {function}([{names}], hive_partitioning = {hive}{own}, {options})")
    return calls[0] if len(calls) == 1 else f"FROM ({' UNION ALL '.join(calls)})"


# --- CSV


def _csv_heads(reading: Reading) -> list[CsvHead]:
    """The beginning of each file. Raises ConfigError if they differ."""
    heads: list[CsvHead] = []
    for file in reading.files:
        head = reading.head(file)
        heads.append(head)
        check_keys(file, head.names)
        if (head.names, head.delimiter) != (heads[0].names, heads[0].delimiter):
            raise ConfigError(
                f"{shown(file)} has another header or delimiter than the first file; stamp it by "
                "itself",
                path=file,
            )
    if any("\udc80" <= letter <= "\udcff" for name in heads[0].names for letter in name):
        raise fault(reading) or ConfigError(f"{reading.files[0]} is not UTF-8")
    return heads


def _csv_table(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    heads = _csv_heads(reading)
    names = list(heads[0].names)
    quotes = _has_quotes(reading)
    rows = _csv_rows(reading, heads, parallel=not quotes)
    selected = own = [column(i) for i in range(len(names))]
    if reading.infer:
        types = infer_types(database, rows, own)
        selected = [
            each if kind == "VARCHAR" else f"CAST(nullif({each}, '') AS {kind})"
            for each, kind in zip(own, types, strict=True)
        ]
    keys = []
    if hive_keys(*reading.files):
        keys = database.sql(f"{rows} LIMIT 0").columns[len(names) :]
    return _table(
        rows,
        [*names, *keys],
        [*selected, *map(quoted, keys)],
        heads[0].row_bytes + _FIELD_BYTES * len(names),
        not (quotes or keys),
        heads[0].delimiter,
    )


def _csv_rows(reading: Reading, heads: list[CsvHead], *, parallel: bool) -> str:
    head = heads[0]
    count = len(head.names)
    columns = ", ".join(f"{literal(str(i))}: 'VARCHAR'" for i in range(count))
    # In a file of one column a line without anything is no row, and "" is an empty text.
    empty = "allow_quoted_nulls = false"
    if count > 1:
        empty = f"force_not_null = [{', '.join(literal(str(i)) for i in range(count))}]"
    # A line end within the header's quotes would be taken for that of all rows.
    end = head.end and f", new_line = {head.end!r}"
    options = (
        f"auto_detect = false, columns = {{{columns}}}, header = {str(reading.header).lower()}, "
        f"delim = {literal(head.delimiter)}, quote = '\"', escape = '\"', {empty}{end}, "
        f"parallel = {str(parallel).lower()}, {_buffers(reading)}"
    )
    rows = _rows(reading, "read_csv", options, [each.before for each in heads])
    return rows if count > 1 else f'{rows} WHERE "0" IS NOT NULL'


def _buffers(reading: Reading) -> str:
    size = reading.memory.buffer_bytes
    return f"max_line_size = {size // 2}, buffer_size = {size}"


def _has_quotes(reading: Reading) -> bool:
    """Whether there are quotes. Raises ConfigError for one that is never closed."""
    counts = [
        sum(block.count(b'"') for block in reading.source(file).blocks()) for file in reading.files
    ]
    # An odd number may be right, because a quote within a field is a character.
    if any(count % 2 for count in counts) and (problem := fault(reading)):
        raise problem
    return any(counts)


# --- JSON Lines


def json_rows(reading: Reading) -> str:
    """The rows of JSON Lines as a query, with the column ``json``."""
    return _rows(reading, "read_json_objects", _LINES)


def _json_table(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    """With the keys of all rows."""
    objects = json_rows(reading)
    found = json_columns(database, f"SELECT json {objects}")
    first = printable(shown(reading.files[0]))
    if found is None:
        raise fault(reading) or ConfigError(f"{first}: a row is not a JSON object")
    if not found:
        if not database.execute(f"{objects} LIMIT 1").fetchall():
            return Table("SELECT 1 WHERE false", [])
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
    rows = _rows(reading, "read_json", f"columns = {{{columns}}}, {_LINES}")
    names = database.sql(f"{rows} LIMIT 0").columns
    kept = {name: kind for name, (read, kind) in found.items() if read != kind}
    parts = [
        f"CAST({quoted(name)} AS {kept[name]})" if name in kept else quoted(name) for name in names
    ]
    return _table(rows, names, parts)


# --- the column of an audit


def audited(
    reading: Reading, name: str, database: duckdb.DuckDBPyConnection, number: int
) -> tuple[str, str]:
    """The column of an audit as a query, and whether its rows are ``line``, ``row``, or neither.

    The query has the columns ``n`` (a number), ``t`` (a text), ``raw`` (the value as text) and
    ``kind`` (its type, where it is neither), in the order of the file. Lines that are not those of
    the rows are found later.

    Raises ConfigError if the file has no such column, or two of them.
    """
    file = reading.files[0]
    if reading.kind == "text":
        options = (
            "auto_detect = false, columns = {'0': 'VARCHAR'}, header = false, delim = '\x01', "
            f"quote = '', escape = '', {_buffers(reading)}"
        )
        return _of_texts(column(0), _rows(reading, "read_csv", options)), "line"
    if reading.kind == "csv":
        table = table_of(reading, database)
        hint = ", or use --no-header if its first line is a row"
        return _of_texts(column(_index(table.names, name, file, hint)), f"FROM ({table.query})"), ""
    if reading.kind == "jsonl":
        pointer = literal("/" + name.replace("~", "~0").replace("/", "~1"))
        query = (
            "SELECT CASE WHEN kind <> 'VARCHAR' AND regexp_full_match(raw, '[0-9]+') THEN "
            "TRY_CAST(raw AS UHUGEINT) END AS n, "
            "CASE WHEN kind = 'VARCHAR' THEN raw END AS t, raw, lower(kind) AS kind FROM ("
            "SELECT json_type(value) AS kind, CASE WHEN json_type(value) <> 'NULL' THEN "
            "json_extract_string(value, '$') END AS raw FROM (SELECT CASE WHEN "
            f"starts_with(json, '{{') THEN json_extract(json, {pointer}) "
            f"ELSE error('not an object') END AS value {json_rows(reading)}))"
        )
        return query, ""
    if reading.kind == "arrow":
        from frazil.cli.files.typed_files import Numbered, direct

        batches = direct(reading)
        at = _index(batches.schema.names, name, file)
        rows, own = f"arrow_{number}", column(0)
        database.register(rows, Numbered(batches, at))
        uuid = str(batches.schema.field(at).type) == "fixed_size_binary[16]"
        rows = f"FROM {rows}"
    else:
        path = literal(reading.plain(file)[0])
        try:
            schema = database.execute(
                f"SELECT name, num_children, type_length FROM parquet_schema({path})"
            ).fetchall()
        except duckdb.Error as error:
            raise ConfigError(f"{file} is not Parquet: {error}", path=file) from None
        columns = list(_children(schema))
        at = _index([each for each, _ in columns], name, file)
        rows = f"FROM read_parquet({path}, hive_partitioning = false)"
        own = quoted(database.sql(f"{rows} LIMIT 0").columns[at])
        uuid = columns[at][1] == _UUID_BYTES
    (kind,) = database.sql(f"SELECT {own} {rows} LIMIT 0").types
    return _of_type(own, kind, rows, uuid=uuid), "row"


def _index(names: Sequence[str], name: str, file: str, hint: str = "") -> int:
    if name not in names:
        raise ConfigError(
            f"{shown(file)} has no column {name!r}; choose one of "
            f"{', '.join(map(printable, names))} with --column{hint}",
            column=name,
        )
    if list(names).count(name) > 1:
        raise ConfigError(
            f"{shown(file)} has two columns {name!r}; rename the one without the IDs", column=name
        )
    return names.index(name)


def _of_texts(name: str, rows: str) -> str:
    return f"SELECT NULL::UBIGINT AS n, {name} AS t, {name} AS raw, '' AS kind {rows}"


def _children(schema: Sequence[Any]) -> Iterator[tuple[str, int | None]]:
    """The columns of Parquet and the lengths of their values, without the parts of nested ones."""
    inside = 0
    for name, children, length in schema[1:]:
        if not inside:
            yield name, None if children or length is None else int(length)
        inside += (children or 0) - bool(inside)


def _of_type(name: str, kind: Any, rows: str, *, uuid: bool) -> str:
    number, text, raw = "NULL::UBIGINT", "NULL::VARCHAR", f"CAST({name} AS VARCHAR)"
    if kind.id in _INTEGERS:
        number = name
    elif kind.id == "decimal" and str(kind).endswith(",0)"):
        number = f"CAST({name} AS HUGEINT)"
    elif kind.id in ("varchar", "enum", "uuid"):
        text = raw
    elif kind.id == "blob":
        text = f"CAST(CAST(hex({name}) AS UUID) AS VARCHAR)" if uuid else f"TRY(decode({name}))"
    return f"SELECT {number} AS n, {text} AS t, {raw} AS raw, {literal(str(kind))} AS kind {rows}"
