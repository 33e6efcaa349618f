"""Stamping: rows from files to a file with new IDs.

DuckDB reads text (``tables``), pyarrow reads and writes Parquet and Arrow (``typed_files``). DuckDB
reads ahead while IDs are added and rows are written.

A row of CSV or JSON Lines is a text that DuckDB makes; one step joins all IDs of a batch with their
rows. In JSON Lines an ID is a text, because a reader that takes JSON numbers as doubles would
change it.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import IO, Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli._signals import whole
from frazil.cli.files.database import check_rows, check_text, fraction_read, unreadable
from frazil.cli.files.paths import shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import Table, column, json_rows, literal, numbered, table_of
from frazil.cli.files.typed_files import Batches, check_types, direct, write_typed
from frazil.cli.new_ids import Ids, one_text
from frazil.errors import ConfigError
from frazil.sql.parts import quoted
from frazil.tables.new_column import check_time

_TEXTS = ("varchar", "enum", "interval")

Progress = Callable[[float, int], None]


class Place(NamedTuple):
    """The new column: its name, and whether it is the last one."""

    column: str
    last: bool


def stamp(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    """Write the rows with new IDs in the format ``to``.

    on_progress: gets how much is done, 0 to 1, and the rows. Raises ConfigError if the input is not
    a table or has the column, OSError if it cannot write.
    """
    typed: Batches | None = None

    def report() -> None:
        share = ids.count / typed.rows if typed and typed.rows else fraction_read(reading.database)
        on_progress(share, ids.count)

    try:
        if reading.typed and not (typed := direct(reading)) and reading.kind == "arrow":
            problem = "Arrow files in Hive partitions, or with different columns, cannot be read"
            raise ConfigError(f"{problem} together; stamp them one by one")
        if to in ("csv", "jsonl"):
            for text in _texts(reading, typed, place, to, ids):
                with whole():
                    file.write(text)
                report()
            return
        rows = typed or _by_duckdb(reading)
        _check_new(reading, place.column, rows.schema.names)
        check_time(ids.time_column, rows.schema.names)
        made = pa.field(place.column, pa.int64() if ids.numeric else pa.string())
        at = len(rows.schema) if place.last else 0
        schema = rows.schema.insert(at, made)

        def stamped() -> Iterator[Any]:
            column = ids.numbers if ids.numeric else ids.texts
            for batch in rows.read():
                moments = batch.column(ids.time_column) if ids.time_column else None
                yield batch.add_column(at, made, column(batch.num_rows, moments))
                report()

        write_typed(to, file, replace(rows, schema=schema, read=stamped), place.column)
    except (duckdb.Error, pa.ArrowException) as error:
        raise unreadable(reading, error) from None


def _check_new(reading: Reading, column: str, names: Sequence[str]) -> None:
    if column in names:
        problem = f"{shown(reading.files[0])} already has a column {column!r}; name another with"
        raise ConfigError(f"{problem} --column", column=column)


def _by_duckdb(reading: Reading) -> Batches:
    table = table_of(reading)
    schema, batches = _run(reading, table.query)
    schema = pa.schema([schema.field(i).with_name(name) for i, name in enumerate(table.names)])
    own = range(len(table.names))  # JSON Lines without a row have none
    return Batches(schema, lambda: (b.select(own).rename_columns(table.names) for b in batches))


def _run(reading: Reading, query: str) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of a query."""
    rows = reading.memory.rows_for(reading.head.row_bytes, 1)
    reader = reading.database.sql(query).to_arrow_reader(rows)

    def batches() -> Iterator[Any]:
        count = 0
        try:
            for batch in reader:
                count += batch.num_rows
                yield batch
            check_rows(reading, count)
        except OSError as error:  # as Arrow raises those of DuckDB
            raise unreadable(reading, error) from None

    return reader.schema, batches()


def _texts(
    reading: Reading, typed: Batches | None, place: Place, to: str, ids: Ids
) -> Iterator[memoryview | bytes]:
    """The header of CSV, and the rows with new IDs."""
    moment = "NULL"
    if reading.kind == to == "jsonl" and not reading.keys:
        if ids.time_column:
            moment = f"json_extract_string(json, {literal(_json_key(ids.time_column))})"
        query = f"SELECT {_copied_json(place)}, {moment} {json_rows(reading)}"
    else:
        rows, names = _registered(reading, typed) if typed else table_of(reading)
        if reading.kind != "csv" or reading.header:
            _check_new(reading, place.column, names)
            if to == "csv":
                named = [*names, place.column] if place.last else [place.column, *names]
                header = io.StringIO(newline="")
                mark = reading.head.delimiter
                csv.writer(header, delimiter=mark, lineterminator="\n").writerow(named)
                yield header.getvalue().encode()
        check_time(ids.time_column, names)
        if ids.time_column:
            moment = column(list(names).index(ids.time_column))
        types = reading.database.sql(f"{rows} LIMIT 0").types if names else []
        query = f"SELECT {_row_text(to, reading, names, types, place)}, {moment} FROM ({rows})"
    for batch in _run(reading, query)[1]:
        row, moments = batch.columns
        if row.null_count:
            check_text(reading)
            _check_new(reading, place.column, [place.column])
        yield joined(row, ids.texts(len(row), moments), to, place)


def _registered(reading: Reading, rows: Batches) -> Table:
    """The rows as a table. Raises ConfigError for a column with a type that DuckDB lacks."""

    def probe(schema: Any) -> None:
        for kind in ("duration[ns]", "month_day_nano"):
            if kind in str(schema.types):  # the rest is lost without an error
                raise pa.ArrowInvalid("DuckDB has microseconds of a duration")
        reading.database.register("one", pa.Table.from_batches([], schema))
        reading.database.sql("FROM one LIMIT 0").types  # noqa: B018 (it raises)

    check_types(rows.schema, probe, "as text", "Parquet or Arrow")
    reading.database.register("input", rows)
    return Table(numbered("FROM input", len(rows.schema)), rows.schema.names)


# --- rows as texts


def joined(rows: Any, ids: Any, kind: str, place: Place) -> memoryview:
    """The bytes of the texts of rows, each with its ID."""
    parts = [rows, ids, "\n"] if place.last else [ids, rows, "\n"]
    if kind == "jsonl":
        key = json.dumps(place.column, ensure_ascii=False) + ': "'
        parts = ["{", rows, key, ids, '"}\n'] if place.last else ["{" + key, ids, '"', rows, "}\n"]
    # 32 bits may not count the bytes of a batch.
    large = pa.large_string()
    arrays = [one_text(part) if isinstance(part, str) else part for part in [*parts, ""]]
    texts = pc.binary_join_element_wise(*(each.cast(large) for each in arrays))
    _, offsets, data = texts.buffers()
    size = int(np.frombuffer(offsets, np.int64)[len(texts)])
    return memoryview(data)[:size] if data else memoryview(b"")


def _row_text(
    kind: str, reading: Reading, names: Sequence[str], types: Sequence[Any], place: Place
) -> str:
    """The SQL of a row's text. Raises ConfigError for a column that the format cannot hold."""
    for i, (name, each) in enumerate(zip(names, types, strict=True)):
        problem = ""
        if _has_bytes(each):
            problem = f"the column {name!r} as text, because it holds bytes; remove that column, or"
            problem += " write Parquet"
        elif kind == "jsonl" and name in names[:i]:
            problem = f"two columns {name!r} to JSON; rename one of them"
        if problem:
            raise ConfigError(f"cannot write {problem}", column=name)
    if kind == "csv":
        plain = reading.rows is not None and not reading.keys  # without a quote
        return _csv_row(types, literal(reading.head.delimiter), place, plain=plain)
    fields = []
    for i, (name, each) in enumerate(zip(names, types, strict=True)):
        key = literal(f"{json.dumps(name, ensure_ascii=False)}: ")
        value = f"CAST(to_json({_json_value(column(i), each)}) AS VARCHAR)"
        fields.append(f"{key}, coalesce({value}, 'null')")
    return _row(fields, place)


def _copied_json(place: Place) -> str:
    """The SQL of the text within a JSON object; null if it is none, or has the column.

    Every value stays as it was written.
    """
    key = literal(_json_key(place.column))
    fits = f"json_type(json) = 'OBJECT' AND NOT json_exists(json, {key})"
    inner = "trim(json[2:-2], ' \t\r')"
    text = _row([inner], place)
    return f"CASE WHEN {fits} THEN CASE WHEN {inner} = '' THEN '' ELSE {text} END END"


def _json_key(column: str) -> str:
    """The pointer to a key of an object."""
    return "/" + column.replace("~", "~0").replace("/", "~1")


def _row(fields: Sequence[str], place: Place, mark: str = "', '") -> str:
    """The SQL of a row's text, with the separator that an ID beside it needs.

    A field is one argument of ``concat``, or several.
    """
    parts = [f"{each}, {mark}" if place.last else f"{mark}, {each}" for each in fields]
    return f"concat('', {', '.join(parts)})" if parts else "''"


def _children(kind: Any) -> list[tuple[str, Any]]:
    """The types within a type, by name; an array's size is none."""
    if kind.id == "array":
        return [kind.children[0]]
    return list(kind.children) if kind.id in ("list", "struct", "map", "union") else []


def _has_bytes(kind: Any) -> bool:
    return kind.id in ("blob", "bit") or any(_has_bytes(each) for _, each in _children(kind))


def _csv_row(types: Sequence[Any], mark: str, place: Place, *, plain: bool) -> str:
    """The SQL of a row of CSV. Few rows need quotes, so all texts of a row are checked at once."""
    values = [
        f"to_json({_json_value(column(i), kind)})" if _children(kind) else column(i)
        for i, kind in enumerate(types)
    ]
    fields = [f"CAST({value} AS VARCHAR)" for value in values]
    quotable = [bool(_children(each)) or each.id in _TEXTS for each in types]

    def odd(text: str) -> str:
        return " OR ".join(
            f"contains({text}, {each})" for each in ("'\"'", mark, "chr(10)", "chr(13)")
        )

    whole = _row(fields, place, mark)
    if plain or not any(quotable):
        return whole
    safe = [
        f"CASE WHEN {odd(text)} THEN concat('\"', replace({text}, '\"', '\"\"'), '\"') "
        f"ELSE {text} END" if may else text
        for text, may in zip(fields, quotable, strict=True)
    ]  # fmt: skip
    row = f"concat({', '.join(compress(fields, quotable))})"
    return f"CASE WHEN {odd(row)} THEN {_row(safe, place, mark)} ELSE {whole} END"


def _json_value(value: str, kind: Any, depth: int = 0) -> str:
    """A value that ``to_json`` writes without a loss; the same SQL if it has no such part."""
    inner, x = dict(_children(kind)), f"x{depth}"
    if kind.id in ("float", "double"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.id.startswith(("time", "date", "interval", "decimal", "hugeint", "uhugeint")):
        return f"CAST({value} AS VARCHAR)"
    if not inner:
        return value
    if kind.id in ("list", "array"):
        child = _json_value(x, inner["child"], depth + 1)
        return value if child == x else f"list_transform({value}, lambda {x}: {child})"
    is_map = kind.id == "map"
    parts = {
        name: f"{x}.{name}" if is_map else f"struct_extract({value}, {literal(name)})"
        for name in inner
    }
    made = {name: _json_value(part, inner[name], depth + 1) for name, part in parts.items()}
    if made == parts:
        return value
    if is_map:
        entry = f"{{'k': CAST({x}.key AS VARCHAR), 'v': {made['value']}}}"
        whole = f"map_from_entries(list_transform(map_entries({value}), lambda {x}: {entry}))"
    else:
        fields = ", ".join(f"{quoted(name)} := {part}" for name, part in made.items())
        whole = f"struct_pack({fields})"
    return f"CASE WHEN {value} IS NOT NULL THEN {whole} END"
