"""Parquet and Arrow, as pyarrow reads and writes them: with types, metadata and compression.

``pyarrow.parquet`` is imported only for Parquet, because that takes 40 ms.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any

import duckdb
import pyarrow as pa
import pyarrow.ipc

from frazil.cli.files.paths import Memory, shown
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Output
from frazil.errors import ConfigError

_CODECS = {"uncompressed": "none", "lz4_raw": "lz4"}  # where pyarrow writes another name
_GROUP_ROWS = 491_520
_GROUP_BYTES = 32 << 20


@dataclass(frozen=True)
class Batches:
    """Rows in record batches.

    read: begins to read them. rows: how many, if the files tell. codecs: the compression of each
    column of Parquet; plain: those without a dictionary.
    """

    schema: Any
    read: Callable[[], Iterator[Any]]
    rows: int = 0
    codecs: dict[str, str] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        """What DuckDB reads, from the beginning for each query."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.read())
        return reader.__arrow_c_stream__(requested)


def direct(reading: Reading) -> Batches | None:
    """Batches as the files have them; None if their columns differ, or folders add some.

    Raises ConfigError if a file is of another format.
    """
    files = [_opened(reading, file) for file in reading.files]
    first = files[0]
    if reading.keys or not all(first.schema.equals(each.schema) for each in files):
        return None

    def read() -> Iterator[Any]:
        for file in reading.files:
            try:
                yield from _batches(_opened(reading, file), reading.memory)
            except (pa.ArrowException, OSError) as error:
                raise ConfigError(f"cannot read {file} to its end: {error}", path=file) from None

    if reading.kind == "arrow":
        return Batches(first.schema, read)
    rows = sum(each.metadata.num_rows for each in files)
    group = first.metadata.row_group(0) if first.metadata.num_row_groups else None
    columns = [group.column(i) for i in range(group.num_columns)] if group else []
    codecs = {each.path_in_schema: each.compression.lower() for each in columns}
    plain = {each.path_in_schema for each in columns if not each.has_dictionary_page}
    return Batches(first.schema_arrow, read, rows, codecs, frozenset(plain))


def _opened(reading: Reading, file: str) -> Any:
    source = reading.source(file)
    try:
        if reading.kind == "parquet":
            from pyarrow.parquet import ParquetFile

            # Data that is read ahead would be kept until the end of the file.
            return ParquetFile(source.path, buffer_size=1 << 20, pre_buffer=False)
        mapped = pa.memory_map(source.path)
        try:
            return pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            return pa.ipc.open_stream(mapped)
    except (pa.ArrowException, OSError) as error:
        problem = f"{shown(file)} is not {reading.kind.capitalize()}: {error}"
        raise ConfigError(problem, path=file) from None


def _batches(opened: Any, memory: Memory) -> Iterator[Any]:
    """The batches of a file, each read by a thread while the one before is written."""
    if isinstance(opened, pa.ipc.RecordBatchStreamReader):
        batches: Iterator[Any] = iter(opened)
    elif isinstance(opened, pa.ipc.RecordBatchFileReader):
        batches = map(opened.get_batch, range(opened.num_record_batches))
    else:
        metadata = opened.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        batches = opened.iter_batches(memory.rows_for(size, metadata.num_rows))
    with ThreadPoolExecutor(1, "frazil-files") as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


# --- writing


def check_types(
    fields: Iterable[Any], probe: Callable[[Any], None], where: str, better: str
) -> None:
    """Raise ConfigError for a column whose type a format lacks: ``probe`` fails for its schema.

    where, better: the format and those that have the type, for the error.
    """
    for each in fields:
        try:
            probe(pa.schema([each]))
        except (duckdb.Error, pa.ArrowException) as error:
            problem = f"cannot write the column {each.name!r} {where}, because it has the type"
            end = f"{each.type} ({error}); cast it to another type, or write {better}"
            raise ConfigError(f"{problem} {end}", column=each.name) from None


def write_typed(kind: str, file: IO[bytes], rows: Batches, column: str) -> None:
    """Write rows as Parquet or Arrow; ``column`` is the one with the IDs, which never repeat."""
    with Output(file) as whole:
        target = pa.PythonFile(whole, "w")
        try:
            batches = rows.read()
            if kind == "arrow":
                writer = pa.ipc.new_file(target, rows.schema)
            else:
                writer = _parquet_writer(target, rows, column)
                batches = _groups(batches, rows.schema)
            for some in batches:
                writer.write(some)
                del some  # else a row group stays in memory until the next one is complete
            writer.close()
        except pa.ArrowException as error:
            problem = f"cannot write these rows to {kind.capitalize()}: {error}"
            better = "Parquet" if kind == "arrow" else "Arrow"
            raise ConfigError(f"{problem}; write {better}") from None


def _parquet_writer(target: Any, rows: Batches, column: str) -> Any:
    from pyarrow.parquet import ParquetFile, ParquetWriter

    codecs: Any = {name: _CODECS.get(codec, codec) for name, codec in rows.codecs.items()}
    codecs = {column: next(iter(codecs.values())), **codecs} if codecs else "snappy"
    found: list[str] = []  # each part of a nested column is a column of Parquet

    def probe(schema: Any) -> None:
        sink = pa.BufferOutputStream()
        ParquetWriter(sink, schema).close()
        found.extend(part.path for part in ParquetFile(pa.BufferReader(sink.getvalue())).schema)

    check_types(rows.schema, probe, "to Parquet", "Arrow")
    repeating = [path for path in found if path not in rows.plain | {column}]
    return ParquetWriter(target, rows.schema, compression=codecs, use_dictionary=repeating)


def _groups(batches: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Tables for row groups of some hundred thousand rows."""
    some: list[Any] = []
    rows = size = 0
    for batch in batches:
        some.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.Table.from_batches(some, schema)
            some, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(some, schema)
