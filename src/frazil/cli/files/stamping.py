"""Stamping: rows from files to a file with new IDs, in stages that run at the same time.

DuckDB reads text (``tables``), pyarrow reads Parquet and Arrow (``arrow_files``). CSV and JSON
Lines are texts that DuckDB makes of the rows; Parquet and Arrow are written as Arrow batches. One
thread reads, one adds IDs, and one writes.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import IO, Any

import duckdb
import pyarrow as pa

from frazil.cli._signals import whole
from frazil.cli.files.ahead import ahead
from frazil.cli.files.arrow_files import Batches, direct, opened
from frazil.cli.files.database import connect, unreadable
from frazil.cli.files.formats import check_keys, hive_keys
from frazil.cli.files.id_column import Ids
from frazil.cli.files.places import fault
from frazil.cli.files.reading import Place, Reading, column_exists
from frazil.cli.files.streams import Source
from frazil.cli.files.tables import Table, column, csv_heads, csv_table, json_rows, json_table
from frazil.cli.files.text_rows import copied_json, csv_header, frame, row_text
from frazil.cli.files.writers import joined, open_writer, with_ids
from frazil.errors import ConfigError

__all__ = ["stamp"]

Progress = Callable[[int, int], None]


def stamp(
    reading: Reading, place: Place, to: str, file: IO[bytes], ids: Ids, on_progress: Progress
) -> None:
    """Write the rows with new IDs in the format ``to``; ``on_progress`` gets bytes and rows.

    Raises ConfigError if the input is not a table or has the column, OSError if it cannot write.
    """
    size = sum(_size(path) for path in reading.files)
    with ExitStack() as stack:
        database = stack.enter_context(connect(reading.memory.database_bytes, reading.folder))
        stack.callback(database.interrupt)
        try:
            found = _typed(reading)
            if to in ("csv", "jsonl"):
                _write_text(reading, place, to, file, ids, database, found, size, on_progress)
                return
            batches = found or _by_duckdb(reading, database)
            schema, rows = with_ids(batches, place, ids, numeric=ids.numeric)
            with open_writer(to, file, schema, place.column, batches.compression) as write:
                for batch in ahead(rows):
                    with whole():
                        write(batch)
                    on_progress(int(size * batches.fraction()), ids.count)
        except (duckdb.Error, pa.ArrowException) as error:
            raise unreadable(reading, error) from None


def _typed(reading: Reading) -> Batches | None:
    """The rows of Parquet and Arrow files of one schema; None if DuckDB has to read them."""
    if reading.kind not in ("parquet", "arrow"):
        return None
    files = [(file, opened(reading.kind, file)) for file in reading.files]
    schema = files[0][1].schema
    if not hive_keys(*reading.files) and all(schema.equals(each.schema) for _, each in files):
        return direct(reading, files)
    if reading.kind == "arrow":
        raise ConfigError(
            "Arrow files in Hive partitions, or with different columns, cannot be read together; "
            "stamp them one by one"
        )
    for file, each in files:
        check_keys(file, each.schema_arrow.names)
    return None


def _table(reading: Reading, database: duckdb.DuckDBPyConnection) -> Table:
    if reading.kind == "csv":
        return csv_table(reading, database)
    if reading.kind == "jsonl":
        return json_table(reading, database)
    hive = str(bool(hive_keys(*reading.files))).lower()
    files = ", ".join("'" + reading.plain(file).replace("'", "''") + "'" for file in reading.files)
    rows = f"FROM read_parquet([{files}], union_by_name = true, hive_partitioning = {hive})"
    names = database.sql(f"{rows} LIMIT 0").columns
    parts = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names]
    selected = ", ".join(f"{part} AS {column(i)}" for i, part in enumerate(parts))
    return Table(f"SELECT {selected} {rows}", list(names), 1 << 10)


def _by_duckdb(reading: Reading, database: duckdb.DuckDBPyConnection) -> Batches:
    table = _table(reading, database)
    reader = database.sql(table.query).to_arrow_reader(_rows(reading, table))
    schema = pa.schema(
        [field.with_name(name) for field, name in zip(reader.schema, table.names, strict=False)]
    )

    def batches() -> Iterator[Any]:
        for batch in _read(reading, reader):
            yield pa.RecordBatch.from_arrays(batch.columns[: len(schema)], schema=schema)

    return Batches(schema, batches(), fraction=_fraction(database))


def _read(reading: Reading, reader: Any) -> Iterator[Any]:
    """The batches of DuckDB, whose errors are those of Arrow here."""
    try:
        yield from reader
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise unreadable(reading, error) from None


def _rows(reading: Reading, table: Table) -> int:
    return reading.memory.rows_for(table.row_bytes, 1)


def _fraction(database: duckdb.DuckDBPyConnection) -> Callable[[], float]:
    def fraction() -> float:
        with suppress(duckdb.Error):
            return max(0.0, database.query_progress() / 100)
        return 0.0

    return fraction


def _write_text(
    reading: Reading,
    place: Place,
    to: str,
    file: IO[bytes],
    ids: Ids,
    database: duckdb.DuckDBPyConnection,
    found: Batches | None,
    size: int,
    on_progress: Progress,
) -> None:
    done = _fraction(database) if found is None else found.fraction
    query, names, rows = _text_query(reading, place, to, database, found)
    if to == "csv" and (reading.kind != "csv" or reading.header):
        ordered = [*names, place.column] if place.last else [place.column, *names]
        file.write(csv_header(ordered, _delimiter(reading)))
    around = frame(to, place)

    def texts() -> Iterator[Any]:
        for batch in _read(reading, database.sql(query).to_arrow_reader(rows)):
            column = batch.column(0)
            if column.null_count:
                raise fault(reading) or column_exists(_first(reading), place.column)
            yield joined(column, ids.texts(len(column)), around, last=place.last)

    for data in ahead(texts()):
        with whole():
            file.write(data)
        on_progress(int(size * done()), ids.count)


def _text_query(
    reading: Reading,
    place: Place,
    to: str,
    database: duckdb.DuckDBPyConnection,
    found: Batches | None,
) -> tuple[str, list[str], int]:
    """The texts of the rows as a query, the names of their columns, and the rows of a batch."""
    if reading.kind == to == "jsonl" and not hive_keys(*reading.files):
        files = [reading.plain(each) for each in reading.files]
        rows = json_rows(reading, files)
        return (
            f"SELECT {copied_json(place)} {rows}",
            [],
            reading.memory.rows_for(1 << 10, 1),
        )
    if found is not None:
        _check_types(database, found.schema)
        numbers = [str(i) for i in range(len(found.schema))]
        schema = pa.schema(
            [each.with_name(n) for each, n in zip(found.schema, numbers, strict=True)]
        )
        renamed = (
            pa.RecordBatch.from_arrays(each.columns, schema=schema) for each in found.batches
        )
        database.register("input", pa.RecordBatchReader.from_batches(schema, renamed))
        table = Table("FROM input", found.schema.names, 1 << 10)
    else:
        table = _table(reading, database)
    if place.column in table.names and (reading.kind != "csv" or reading.header):
        raise column_exists(_first(reading), place.column)
    types = database.sql(f"{table.query} LIMIT 0").types if table.names else []
    text = row_text(to, table.names, types, _delimiter(reading), last=place.last, plain=table.plain)
    return f"SELECT {text} FROM ({table.query})", table.names, _rows(reading, table)


def _check_types(database: duckdb.DuckDBPyConnection, schema: Any) -> None:
    """Raise ConfigError for a column with a type that DuckDB does not have."""
    for each in schema:
        try:
            database.register("one", pa.Table.from_batches([], pa.schema([each])))
            database.sql("FROM one LIMIT 0").types  # noqa: B018 (it raises)
        except (duckdb.Error, pa.ArrowException):
            raise ConfigError(
                f"cannot write the column {each.name!r} as text, because it has the type "
                f"{each.type}; cast it to another type, or write Parquet or Arrow",
                column=each.name,
            ) from None


def _delimiter(reading: Reading) -> str:
    """The delimiter of the output: that of CSV that is read."""
    return csv_heads(reading)[0].delimiter if reading.kind == "csv" else ","


def _first(reading: Reading) -> str:
    return "standard input" if reading.files[0] == "-" else reading.files[0]


def _size(path: str) -> int:
    with Source(path) as source:
        return source.size or 0
