"""Parquet and Arrow, as pyarrow reads and writes them: with types, metadata and compression.

``pyarrow.parquet`` is imported only for Parquet, because that takes 40 ms.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from frazil.cli.files.options import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Output
from frazil.errors import ConfigError

_CODECS = {"uncompressed": "none", "lz4_raw": "lz4"}  # where pyarrow writes another name
_GROUP_ROWS = 491_520
_GROUP_BYTES = 32 << 20


@dataclass(frozen=True)
class Batches:
    """Rows in record batches.

    read: begins to read them. fraction: how much has been read, 0 to 1, if the files tell.
    compression, plain: that of the columns in Parquet, and those without a dictionary. alike:
    whether all files have this schema.
    """

    schema: Any
    read: Callable[[], Iterator[Any]]
    fraction: Callable[[], float] = lambda: 0.0
    compression: str | dict[str, str] = "snappy"
    plain: frozenset[str] = frozenset()
    alike: bool = True

    def column(self, i: int) -> "Batches":
        """One of the columns."""
        schema = pa.schema([self.schema.field(i)])
        return replace(self, schema=schema, read=lambda: (each.select([i]) for each in self.read()))


class Numbered:
    """Batches for DuckDB, which each query reads from the beginning, with numbers as names.

    If this had a ``schema`` too, DuckDB would take the names from there.
    """

    def __init__(self, rows: Batches) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        """See Arrow's PyCapsule interface."""
        schema = pa.schema([each.with_name(str(i)) for i, each in enumerate(self._rows.schema)])
        batches = (
            pa.RecordBatch.from_arrays(each.columns, schema=schema) for each in self._rows.read()
        )
        return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested)


def direct(reading: Reading) -> Batches:
    """Batches as the files have them. Raises ConfigError if one is of another format."""
    files = [(file, _opened(reading, file)) for file in reading.files]
    first = files[0][1]
    parquet = reading.kind == "parquet"
    total = sum(each.metadata.num_rows for _, each in files) if parquet else 0
    done = 0

    def read() -> Iterator[Any]:
        nonlocal done
        for file in reading.files:
            try:
                for batch in _ahead(_batches(reading.kind, _opened(reading, file), reading.memory)):
                    done += batch.num_rows
                    yield batch
            except (pa.ArrowException, OSError) as error:
                raise ConfigError(f"cannot read {file} to its end: {error}", path=file) from None

    return Batches(
        first.schema_arrow if parquet else first.schema,
        read,
        lambda: done / total if total else 0.0,
        *(_codecs(first.metadata) if parquet else ("snappy", frozenset())),
        all(first.schema.equals(each.schema) for _, each in files),
    )


def _opened(reading: Reading, file: str) -> Any:
    source = reading.source(file)
    if source.copy:
        problem = "because its index is at the end; save it to a file first"
        raise source.error(f"cannot read {reading.kind} from {source.name}, {problem}")
    try:
        if reading.kind == "parquet":
            from pyarrow.parquet import ParquetFile

            # Data that is read ahead would be kept until the end of the file.
            return ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        mapped = pa.memory_map(file)
        try:
            return pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            return pa.ipc.open_stream(mapped)
    except (pa.ArrowException, OSError) as error:
        raise source.error(f"{file} is not {reading.kind.capitalize()}: {error}") from None


def _batches(kind: str, opened: Any, memory: Memory) -> Iterator[Any]:
    if kind == "parquet":
        metadata = opened.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        yield from opened.iter_batches(memory.rows_for(size, metadata.num_rows))
    elif isinstance(opened, pa.ipc.RecordBatchFileReader):
        for i in range(opened.num_record_batches):
            yield opened.get_batch(i)
    else:
        yield from opened


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches, each read by a thread while the one before is written."""
    with ThreadPoolExecutor(1, "frazil-files") as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _codecs(metadata: Any) -> tuple[str | dict[str, str], frozenset[str]]:
    """The compression of the columns, and those without a dictionary, from the first row group."""
    if not metadata.num_row_groups:
        return "snappy", frozenset()
    columns = {each["path_in_schema"]: each for each in metadata.row_group(0).to_dict()["columns"]}
    found = {name: each["compression"].lower() for name, each in columns.items()}
    found = {name: _CODECS.get(each, each) for name, each in found.items()}
    plain = frozenset(name for name, each in columns.items() if not each["has_dictionary_page"])
    codecs = set(found.values())
    return codecs.pop() if len(codecs) == 1 else found, plain


# --- writing


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
        except pa.ArrowNotImplementedError as error:
            raise ConfigError(f"cannot write these rows to {kind.capitalize()}: {error}") from None


def _parquet_writer(target: Any, rows: Batches, column: str) -> Any:
    """Raises ConfigError for a column with a type that Parquet does not have."""
    from pyarrow.parquet import ParquetFile, ParquetWriter

    compression = rows.compression
    if isinstance(compression, dict):
        compression = compression | {column: max(compression.values())}
    repeating: list[str] = []  # each part of a nested column is a column of Parquet
    for each in rows.schema:
        sink = pa.BufferOutputStream()
        try:
            ParquetWriter(sink, pa.schema([each])).close()
        except pa.ArrowException as error:
            problem = f"cannot write the column {each.name!r} to Parquet, because it has the type"
            end = f"{each.type} ({error}); cast it to another type, or write Arrow"
            raise ConfigError(f"{problem} {end}", column=each.name) from None
        parts = ParquetFile(pa.BufferReader(sink.getvalue())).schema
        repeating += [part.path for part in parts if part.path not in rows.plain | {column}]
    return ParquetWriter(target, rows.schema, compression=compression, use_dictionary=repeating)


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
