"""Stamping: rows from files to a file with new IDs.

DuckDB reads text (``tables``) and makes it (``text_rows``), pyarrow reads and writes Parquet and
Arrow (``typed_files``). DuckDB reads ahead while IDs are added and rows are written.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import IO, Any

import duckdb
import numpy as np
import pyarrow as pa

from frazil.cli._signals import whole
from frazil.cli.files.database import check_rows, fault, fraction_read, unreadable
from frazil.cli.files.formats import hive_keys, shown
from frazil.cli.files.id_column import Ids, Place
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import Table, json_rows, numbered, table_of
from frazil.cli.files.text_rows import copied_json, csv_header, joined, row_text
from frazil.cli.files.typed_files import Batches, direct, write_typed
from frazil.errors import ConfigError

Progress = Callable[[float, int], None]


def stamp(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    """Write the rows with new IDs in the format ``to``.

    on_progress: gets how much is done, 0 to 1, and the rows. Raises ConfigError if the input is not
    a table or has the column, OSError if it cannot write.
    """
    typed = None
    try:
        typed = _typed(reading)
        fraction = typed.fraction if typed else partial(fraction_read, reading.database)
        if to in ("csv", "jsonl"):
            for text in _texts(reading, typed, place, to, ids):
                with whole():
                    file.write(text)
                on_progress(fraction(), ids.count)
            return
        rows = typed or _by_duckdb(reading)
        if place.column in rows.schema.names:
            raise _column_exists("the input", place.column)
        made = pa.field(place.column, pa.int64() if ids.numeric else pa.string())
        at = len(rows.schema) if place.last else 0
        schema = rows.schema.insert(at, made)

        def stamped() -> Iterator[Any]:
            column = ids.numbers if ids.numeric else ids.texts
            for batch in rows.read():
                arrays = list(batch.columns)
                arrays.insert(at, column(batch.num_rows))
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                on_progress(fraction(), ids.count)

        write_typed(to, file, replace(rows, schema=schema, read=stamped), place.column)
    except (duckdb.Error, pa.ArrowException) as error:
        raise ((typed and typed.errors) or [unreadable(reading, error)])[0] from None


def _typed(reading: Reading) -> Batches | None:
    """The rows of Parquet and Arrow files of one schema; None if DuckDB has to read them."""
    found = direct(reading) if reading.kind in ("parquet", "arrow") else None
    if found is None or (found.alike and not hive_keys(*reading.files)):
        return found
    if reading.kind == "arrow":
        problem = "Arrow files in Hive partitions, or with different columns, cannot be read"
        raise ConfigError(f"{problem} together; stamp them one by one")
    return None


def _by_duckdb(reading: Reading) -> Batches:
    table = table_of(reading)
    schema, batches = _run(reading, table, table.query)
    names = table.names
    schema = pa.schema([schema.field(i).with_name(name) for i, name in enumerate(names)])
    made = (
        pa.RecordBatch.from_arrays(each.columns[: len(names)], schema=schema) for each in batches
    )
    return Batches(schema, lambda: made)


def _run(reading: Reading, table: Table, query: str) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of a query."""
    rows = reading.memory.rows_for(table.row_bytes, 1)
    reader = reading.database.sql(query).to_arrow_reader(rows)

    def batches() -> Iterator[Any]:
        count = 0
        try:
            for batch in reader:
                count += batch.num_rows
                yield batch
            check_rows(reading, count, table.lines)
        except OSError as error:  # as Arrow raises those of DuckDB
            raise unreadable(reading, error) from None

    return reader.schema, batches()


def _texts(
    reading: Reading, typed: Batches | None, place: Place, to: str, ids: Ids
) -> Iterator[memoryview | bytes]:
    """The header of CSV, and the rows with new IDs."""
    first = shown(reading.files[0])
    if reading.kind == to == "jsonl" and not hive_keys(*reading.files):
        table = Table(json_rows(reading), [])
        query = f"SELECT {copied_json(place)} {table.query}"
    else:
        table = _registered(reading, typed) if typed else table_of(reading)
        names = table.names
        if reading.kind != "csv" or reading.header:
            if place.column in names:
                raise _column_exists(first, place.column)
            if to == "csv":
                named = [*names, place.column] if place.last else [place.column, *names]
                yield csv_header(named, table.delimiter)
        types = reading.database.sql(f"{table.query} LIMIT 0").types if names else []
        query = f"SELECT {row_text(to, table, types, last=place.last)} FROM ({table.query})"
    for batch in _run(reading, table, query)[1]:
        column = batch.column(0)
        if column.null_count:
            raise fault(reading) or _column_exists(first, place.column)
        yield joined(column, ids.texts(len(column)), to, place)


def _registered(reading: Reading, rows: Batches) -> Table:
    """The rows as a table. Raises ConfigError for a column with a type that DuckDB lacks."""
    database = reading.database
    for each in rows.schema:
        try:
            database.register("one", pa.Table.from_batches([], pa.schema([each])))
            database.sql("FROM one LIMIT 0").types  # noqa: B018 (it raises)
        except (duckdb.Error, pa.ArrowException):
            problem = f"cannot write the column {each.name!r} as text, because it has the type"
            end = f"{each.type}; cast it to another type, or write Parquet or Arrow"
            raise ConfigError(f"{problem} {end}", column=each.name) from None
    nano = ("duration[ns]", "month_day_nano")
    some = [i for i, each in enumerate(rows.schema) if any(n in str(each.type) for n in nano)]

    def checked() -> Iterator[Any]:
        for batch in rows.read():
            for i in some:
                if any((ns % 1000).any() for ns in _nanoseconds(batch.column(i))):
                    name = rows.schema[i].name
                    problem = f"cannot write the column {name!r} as text, because it has"
                    end = "nanoseconds of a duration; write Parquet or Arrow"
                    raise ConfigError(f"{problem} {end}", column=name)
            yield batch

    database.register("input", replace(rows, read=checked) if some else rows)
    return Table(numbered("FROM input", len(rows.schema)), rows.schema.names)


def _nanoseconds(array: Any) -> Iterator[Any]:
    """The nanoseconds of all durations, at every depth; text has microseconds."""
    kind, types, parts = array.type, pa.types, []
    if kind == pa.duration("ns"):
        yield array.drop_null().cast(pa.int64()).to_numpy()
    elif kind == pa.month_day_nano_interval():
        fields = np.frombuffer(array.buffers()[1] or b"", [("month_day", "<i4", 2), ("ns", "<i8")])
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        yield fields["ns"][array.offset :][: len(array)][valid]
    elif types.is_dictionary(kind):
        parts = [array.dictionary]
    elif types.is_run_end_encoded(kind):
        parts = [array.values]
    elif types.is_map(kind):
        parts = [array.keys, array.items]
    elif types.is_nested(kind):
        parts = array.flatten() if types.is_struct(kind) else [array.flatten()]
    for part in parts:
        yield from _nanoseconds(part)


def _column_exists(name: str, column: str) -> ConfigError:
    problem = f"{name} already has a column {column!r}; name another with --column"
    return ConfigError(problem, column=column)
