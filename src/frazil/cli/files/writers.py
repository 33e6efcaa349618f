"""Writers of typed rows with an additional column of IDs.

Parquet and Arrow keep the types, the metadata, and in Parquet the compression of the input. In text
values are written in the simplest form that reads back the same, by DuckDB. In CSV null is an empty
field, and lists and objects are JSON. In JSON Lines dates and decimals are strings, and NaN and
infinity are null. There an ID is a string, because a reader that takes JSON numbers as doubles
would change it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from frazil.cli.files.arrow_files import Batches
from frazil.cli.files.copies import Place, column_exists, csv_text
from frazil.cli.files.id_column import Ids
from frazil.errors import ConfigError

__all__ = ["open_writer", "with_ids"]

_GROUP_ROWS = 491_520
_GROUP_BYTES = 64 << 20
_SAMPLE_ROWS, _SAMPLE_LEAST = 40_000, 10_000


def with_ids(found: Batches, place: Place, ids: Ids, *, numeric: bool) -> tuple[Any, Iterator[Any]]:
    """The schema with the new column, and the batches with new IDs.

    Raises ConfigError if the column exists.
    """
    if place.column in found.schema.names:
        raise column_exists("the input", place.column)
    at = len(found.schema) if place.last else 0
    kind = pa.int64() if numeric else pa.string()
    schema = found.schema.insert(at, pa.field(place.column, kind))

    def batches() -> Iterator[Any]:
        for batch in found.batches:
            arrays = list(batch.columns)
            column = ids.numbers if numeric else ids.texts
            arrays.insert(at, column(batch.num_rows))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return schema, batches()


@contextmanager
def open_writer(
    kind: str, file: IO[bytes], schema: Any, column: str, compression: str | dict[str, str]
) -> Iterator[Callable[[Any], None]]:
    """A function that writes a batch in a format; the end of the block completes the file."""
    if kind in ("csv", "jsonl"):
        with duckdb.connect(config={"memory_limit": "256MiB"}) as database:
            database.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
            if kind == "csv":
                file.write((csv_text(schema.names, ",") + "\n").encode())
            yield _TextWriter(file, database, _row_of(kind, schema)).write
        return
    counted = _Counted(file)
    target = pa.PythonFile(counted, "w")
    try:
        if kind == "arrow":
            arrow = pa.ipc.new_file(target, schema)
            yield arrow.write_batch
            arrow.close()
        else:
            _check_parquet(schema)
            writer = _ParquetWriter(target, schema, column, compression)
            yield writer.write
            writer.close()
    except BaseException:
        counted.abandoned = True
        raise


class _ParquetWriter:
    """Writes row groups of some hundred thousand rows.

    A dictionary of values that hardly repeat is a waste, so the first rows decide which columns
    have one.
    """

    def __init__(
        self, target: Any, schema: Any, column: str, compression: str | dict[str, str]
    ) -> None:
        if isinstance(compression, dict):
            compression = compression | {column: max(compression.values())}
        self._open = partial(pa.parquet.ParquetWriter, target, schema, compression=compression)
        self._writer: Any = None
        self._column = column
        self._schema = schema
        self._batches: list[Any] = []
        self._rows = self._bytes = 0

    def write(self, batch: Any) -> None:
        """Write a batch, now or with the next ones."""
        self._batches.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write the rest, and the index at the end of the file."""
        self._flush()
        if self._writer is None:
            self._writer = self._open()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            if self._writer is None:
                plain = {self._column, *_unlike(self._batches[0])}
                names = [name for name in _leaves(self._schema) if name not in plain]
                self._writer = self._open(use_dictionary=names)
            self._writer.write_table(pa.Table.from_batches(self._batches, self._schema), self._rows)
        self._batches, self._rows, self._bytes = [], 0, 0


def _check_parquet(schema: Any) -> None:
    """Raise ConfigError for a column with a type that Parquet does not have."""
    for each in schema:
        try:
            _leaves(pa.schema([each]))
        except pa.ArrowException as error:
            raise ConfigError(
                f"cannot write the column {each.name!r} to Parquet, because it has the type "
                f"{each.type} ({error}); cast it to another type, or write Arrow",
                column=each.name,
            ) from None


def _unlike(batch: Any) -> Iterator[str]:
    """The columns of texts and numbers with few values that repeat."""
    types = pa.types
    for each, values in zip(batch.schema, batch.columns, strict=True):
        if (
            types.is_string(each.type)
            or types.is_integer(each.type)
            or types.is_floating(each.type)
        ):
            some = values[:_SAMPLE_ROWS]
            if len(some) >= _SAMPLE_LEAST and pc.count_distinct(some).as_py() > len(some) / 2:
                yield each.name


def _leaves(schema: Any) -> list[str]:
    """The names of the columns in Parquet, where each part of a nested one is a column."""
    sink = pa.BufferOutputStream()
    with pa.parquet.ParquetWriter(sink, schema):
        pass
    written = pa.parquet.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [written.column(i).path for i in range(len(written.names))]


class _TextWriter:
    """Writes rows as the texts that a SQL expression makes of them."""

    def __init__(self, file: IO[bytes], database: duckdb.DuckDBPyConnection, row: str) -> None:
        self._file = file
        self._database = database
        self._query = f"SELECT {row} || chr(10) FROM batch"

    def write(self, batch: Any) -> None:
        """Write the rows of a batch."""
        # By their numbers, because SQL takes columns id and ID for one.
        names = [str(i) for i in range(batch.num_columns)]
        try:
            self._database.register("batch", pa.Table.from_arrays(batch.columns, names))
            for texts in self._database.sql(self._query).to_arrow_reader(1 << 20):
                column = texts.column(0)
                self._file.write(memoryview(b"".join(_data(column))))
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            raise ConfigError(
                f"cannot write these rows as text: {reason[:400]}; write Parquet or Arrow"
            ) from None


def _data(column: Any) -> Iterator[Any]:
    for chunk in getattr(column, "chunks", [column]):
        plain = chunk.cast(pa.large_string())
        _, offsets, data = plain.buffers()
        ends = memoryview(offsets).cast("q")
        if len(plain):
            yield memoryview(data)[ends[plain.offset] : ends[plain.offset + len(plain)]]


def _row_of(kind: str, schema: Any) -> str:
    """The SQL expression of a row's text. Raises ConfigError for a column of bytes."""
    for each in schema:
        if _has_bytes(each.type):
            raise ConfigError(
                f"cannot write the column {each.name!r} as text, because it holds bytes; remove "
                "that column, or write Parquet",
                column=each.name,
            )
    columns = [(f'"{i}"', each) for i, each in enumerate(schema)]
    if kind == "csv":
        return " || ',' || ".join(_csv_field(column, each.type) for column, each in columns)
    keys = [_string(_json_key(each.name)) for each in schema]
    values = [_json_value(column, each.type) for column, each in columns]
    parts = [f"{key} || {value}" for key, value in zip(keys, values, strict=True)]
    return "'{' || " + " || ', ' || ".join(parts) + " || '}'"


def _has_bytes(kind: Any) -> bool:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _has_bytes(kind.storage_type) and kind.extension_name != "arrow.uuid"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return True
    if types.is_binary_view(kind):
        return True
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _has_bytes(kind.value_type)
    return any(_has_bytes(kind.field(i).type) for i in range(kind.num_fields))


def _csv_field(name: str, kind: Any) -> str:
    if pa.types.is_nested(kind):
        text = f"CAST(to_json({name}) AS VARCHAR)"
    else:
        text = f"CAST({name} AS VARCHAR)"
        if not _is_text(kind):
            return f"coalesce({text}, '')"
    quoted = f"'\"' || replace({text}, '\"', '\"\"') || '\"'"
    odd = f"regexp_matches({text}, '[\",\\r\\n]')"
    return f"CASE WHEN {name} IS NULL THEN '' WHEN {odd} THEN {quoted} ELSE {text} END"


def _json_value(name: str, kind: Any) -> str:
    types = pa.types
    if types.is_floating(kind):
        name = f"CASE WHEN isfinite({name}) THEN {name} END"
    elif types.is_temporal(kind) or types.is_decimal(kind):
        name = f"CAST({name} AS VARCHAR)"
    return f"coalesce(CAST(to_json({name}) AS VARCHAR), 'null')"


def _json_key(name: str) -> str:
    import json

    return json.dumps(name, ensure_ascii=False) + ": "


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_dictionary(kind)
        or pa.types.is_string_view(kind)
    )


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class _Counted:
    """A file that counts the bytes written to it: Parquet needs ``tell``, and a pipe has none.

    ``abandoned``: after an error, drop the index that a writer still writes when it is deleted.
    """

    closed = False
    abandoned = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = 0

    def write(self, data: Any) -> int:
        """Write all of the data."""
        if not self.abandoned:
            self._file.write(data)
        self._size += memoryview(data).nbytes
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """True: the file is open for writing."""
        return True

    def tell(self) -> int:
        """The bytes written."""
        return self._size

    def flush(self) -> None:
        """Do nothing; the owner of the file flushes it."""

    def close(self) -> None:
        """Leave the file open; its owner closes it."""
