"""Parquet and Arrow, as pyarrow reads and writes them: with types, metadata and compression.

``pyarrow.parquet`` is imported only for Parquet, because that takes 40 ms.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from frazil.cli.files.options import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Output
from frazil.errors import ConfigError

_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}  # where pyarrow writes another name
_GROUP_ROWS = 491_520
_GROUP_BYTES = 32 << 20


@dataclass(frozen=True)
class Batches:
    """Rows in record batches.

    read: begins to read them. fraction: how much has been read, 0 to 1, if the files tell.
    compression, plain: that of the columns in Parquet, and those without a dictionary. alike:
    whether all files have this schema. errors: of the rows that DuckDB read, which says less.
    """

    schema: Any
    read: Callable[[], Iterator[Any]]
    fraction: Callable[[], float] = lambda: 0.0
    compression: str | dict[str, str] = "snappy"
    plain: frozenset[str] = frozenset()
    alike: bool = True
    errors: list[ConfigError] = field(default_factory=list)

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        """What DuckDB reads, from the beginning for each query."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self._noted())
        return reader.__arrow_c_stream__(requested)

    def _noted(self) -> Iterator[Any]:
        try:
            yield from self.read()
        except ConfigError as error:
            self.errors.append(error)
            raise


def direct(reading: Reading) -> Batches:
    """Batches as the files have them. Raises ConfigError if one is of another format."""
    files = [_opened(reading, file) for file in reading.files]
    first = files[0]
    alike = all(first.schema.equals(each.schema) for each in files)
    done = 0

    def read() -> Iterator[Any]:
        nonlocal done
        for file in reading.files:
            try:
                for batch in _ahead(_batches(_opened(reading, file), reading.memory)):
                    done += batch.num_rows
                    yield batch
            except (pa.ArrowException, OSError) as error:
                raise ConfigError(f"cannot read {file} to its end: {error}", path=file) from None

    if reading.kind == "arrow":
        return Batches(first.schema, read, alike=alike)
    total = sum(each.metadata.num_rows for each in files)
    codecs = _codecs(first.metadata)
    return Batches(first.schema_arrow, read, lambda: done / (total or 1), *codecs, alike)


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


def _batches(opened: Any, memory: Memory) -> Iterator[Any]:
    if isinstance(opened, pa.ipc.RecordBatchStreamReader):
        return iter(opened)
    if isinstance(opened, pa.ipc.RecordBatchFileReader):
        return map(opened.get_batch, range(opened.num_record_batches))
    metadata = opened.metadata
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    batches: Iterator[Any] = opened.iter_batches(memory.rows_for(size, metadata.num_rows))
    return batches


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
    found, plain = {}, set()
    for each in metadata.row_group(0).to_dict()["columns"]:
        name, codec = each["path_in_schema"], each["compression"]
        found[name] = _CODECS.get(codec, codec.lower())
        if not each["has_dictionary_page"]:
            plain.add(name)
    codecs = set(found.values())
    return codecs.pop() if len(codecs) == 1 else found, frozenset(plain)


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
