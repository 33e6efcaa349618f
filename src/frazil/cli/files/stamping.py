"""Stamping: rows from files to a file with new IDs.

DuckDB reads text (``tables``) and makes it (``text_rows``), pyarrow reads and writes Parquet and
Arrow (``typed_files``). DuckDB reads ahead while IDs are added and rows are written.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import duckdb
import pyarrow as pa

from frazil.cli._signals import whole
from frazil.cli.files.database import check_rows, fault, fraction_read, unreadable
from frazil.cli.files.formats import shown
from frazil.cli.files.id_column import Ids, Place
from frazil.cli.files.reading import Reading
from frazil.cli.files.tables import Table, json_rows, numbered, table_of
from frazil.cli.files.text_rows import copied_json, joined, row_text
from frazil.cli.files.typed_files import Batches, check_types, direct, write_typed
from frazil.errors import ConfigError

Progress = Callable[[float, int], None]


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
        made = pa.field(place.column, pa.int64() if ids.numeric else pa.string())
        at = len(rows.schema) if place.last else 0
        schema = rows.schema.insert(at, made)

        def stamped() -> Iterator[Any]:
            column = ids.numbers if ids.numeric else ids.texts
            for batch in rows.read():
                arrays = list(batch.columns)
                arrays.insert(at, column(batch.num_rows))
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
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
    names = table.names
    schema = pa.schema([schema.field(i).with_name(name) for i, name in enumerate(names)])
    made = (
        pa.RecordBatch.from_arrays(each.columns[: len(names)], schema=schema) for each in batches
    )
    return Batches(schema, lambda: made)


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
    if reading.kind == to == "jsonl" and not reading.keys:
        query = f"SELECT {copied_json(place)} {json_rows(reading)}"
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
        types = reading.database.sql(f"{rows} LIMIT 0").types if names else []
        text = row_text(to, reading, names, types, last=place.last)
        query = f"SELECT {text} FROM ({rows})"
    for batch in _run(reading, query)[1]:
        column = batch.column(0)
        if column.null_count:
            if problem := fault(reading):
                raise problem
            _check_new(reading, place.column, [place.column])
        yield joined(column, ids.texts(len(column)), to, place)


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
