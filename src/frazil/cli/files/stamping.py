"""Stamping: rows from files to a file with new IDs.

DuckDB reads text (``tables``), pyarrow reads Parquet and Arrow (``typed_files``). CSV and JSON
Lines are texts that DuckDB makes of the rows (``text_rows``); Parquet and Arrow are written as
Arrow batches. DuckDB reads ahead while IDs are added and rows are written.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import IO, Any

import duckdb
import pyarrow as pa

from frazil.cli._signals import whole
from frazil.cli.files.database import connect, fault, fraction_read, unreadable
from frazil.cli.files.formats import check_keys, hive_keys, shown
from frazil.cli.files.id_column import Ids
from frazil.cli.files.reading import Place, Reading, column_exists
from frazil.cli.files.tables import Table, json_rows, table_of
from frazil.cli.files.text_rows import copied_json, csv_header, frame, joined, row_text
from frazil.cli.files.typed_files import Batches, Numbered, direct, write_typed
from frazil.errors import ConfigError

Progress = Callable[[float, int], None]


def stamp(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    """Write the rows with new IDs in the format ``to``.

    on_progress: gets how much is done, 0 to 1, and the rows. Raises ConfigError if the input is not
    a table or has the column, OSError if it cannot write.
    """
    with ExitStack() as stack:
        database = stack.enter_context(connect(reading.memory.database_bytes, reading.folder))
        stack.callback(database.interrupt)
        try:
            found = _typed(reading)
            if to in ("csv", "jsonl"):
                fraction = found.fraction if found else partial(fraction_read, database)
                header, texts = _as_text(reading, place, to, database, found, ids)
                file.write(header)
                for text in texts:
                    with whole():
                        file.write(text)
                    on_progress(fraction(), ids.count)
                return
            rows = found or _by_duckdb(reading, database)
            schema, batches = _with_ids(rows, place, ids)

            def written() -> Iterator[Any]:
                for batch in batches:
                    yield batch
                    on_progress(rows.fraction(), ids.count)

            write_typed(to, file, schema, written(), place.column, rows.compression)
        except (duckdb.Error, pa.ArrowException) as error:
            raise unreadable(reading, error) from None


def _typed(reading: Reading) -> Batches | None:
    """The rows of Parquet and Arrow files of one schema; None if DuckDB has to read them."""
    if reading.kind not in ("parquet", "arrow"):
        return None
    found = direct(reading)
    if found.alike and not hive_keys(*reading.files):
        return found
    if reading.kind == "arrow":
        raise ConfigError(
            "Arrow files in Hive partitions, or with different columns, cannot be read together; "
            "stamp them one by one"
        )
    for file in reading.files:
        check_keys(file, pa.parquet.read_schema(file).names)
    return None


def _by_duckdb(reading: Reading, database: duckdb.DuckDBPyConnection) -> Batches:
    table = table_of(reading, database)
    reader = database.sql(table.query).to_arrow_reader(reading.memory.rows_for(table.row_bytes, 1))
    names = table.names
    schema = pa.schema([reader.schema.field(i).with_name(name) for i, name in enumerate(names)])

    def read() -> Iterator[Any]:
        for batch in _read(reading, reader):
            yield pa.RecordBatch.from_arrays(batch.columns[: len(schema)], schema=schema)

    return Batches(schema, read, partial(fraction_read, database))


def _read(reading: Reading, reader: Any) -> Iterator[Any]:
    """The batches of DuckDB, whose errors are those of Arrow here."""
    try:
        yield from reader
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise unreadable(reading, error) from None


def _with_ids(rows: Batches, place: Place, ids: Ids) -> tuple[Any, Iterator[Any]]:
    """The schema with the new column, and the batches with new IDs."""
    if place.column in rows.schema.names:
        raise column_exists("the input", place.column)
    at = len(rows.schema) if place.last else 0
    kind = pa.int64() if ids.numeric else pa.string()
    schema = rows.schema.insert(at, pa.field(place.column, kind))

    def batches() -> Iterator[Any]:
        for batch in rows.read():
            arrays = list(batch.columns)
            column = ids.numbers if ids.numeric else ids.texts
            arrays.insert(at, column(batch.num_rows))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return schema, batches()


def _as_text(
    reading: Reading,
    place: Place,
    to: str,
    database: duckdb.DuckDBPyConnection,
    found: Batches | None,
    ids: Ids,
) -> tuple[bytes, Iterator[memoryview]]:
    """The header of CSV, and the bytes of the rows with new IDs."""
    header = b""
    if reading.kind == to == "jsonl" and not hive_keys(*reading.files):
        table = Table(json_rows(reading), [])
        query = f"SELECT {copied_json(place)} {table.query}"
    else:
        table = table_of(reading, database) if found is None else _registered(database, found)
        names = table.names
        if reading.kind != "csv" or reading.header:
            if place.column in names:
                raise column_exists(shown(reading.files[0]), place.column)
            if to == "csv":
                named = [*names, place.column] if place.last else [place.column, *names]
                header = csv_header(named, table.delimiter)
        types = database.sql(f"{table.query} LIMIT 0").types if names else []
        query = f"SELECT {row_text(to, table, types, last=place.last)} FROM ({table.query})"
    around = frame(to, place)
    reader = database.sql(query).to_arrow_reader(reading.memory.rows_for(table.row_bytes, 1))

    def texts() -> Iterator[memoryview]:
        for batch in _read(reading, reader):
            column = batch.column(0)
            if column.null_count:
                raise fault(reading) or column_exists(shown(reading.files[0]), place.column)
            yield joined(column, ids.texts(len(column)), around, last=place.last)

    return header, texts()


def _registered(database: duckdb.DuckDBPyConnection, found: Batches) -> Table:
    """The rows as a table. Raises ConfigError for a column with a type that DuckDB lacks."""
    for each in found.schema:
        try:
            database.register("one", pa.Table.from_batches([], pa.schema([each])))
            database.sql("FROM one LIMIT 0").types  # noqa: B018 (it raises)
        except (duckdb.Error, pa.ArrowException):
            raise ConfigError(
                f"cannot write the column {each.name!r} as text, because it has the type "
                f"{each.type}; cast it to another type, or write Parquet or Arrow",
                column=each.name,
            ) from None
    database.register("input", Numbered(found))
    return Table("FROM input", found.schema.names)
