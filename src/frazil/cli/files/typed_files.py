"""Parquet and Arrow, as pyarrow reads and writes them: with types, metadata and compression.

``pyarrow.parquet`` is imported only for Parquet, because that takes 40 ms.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
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
    whether all files have this schema.
    """

    schema: Any
    read: Callable[[], Iterator[Any]]
    fraction: Callable[[], float] = lambda: 0.0
    compression: str | dict[str, str] = "snappy"
    plain: frozenset[str] = frozenset()
    alike: bool = True


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


class Numbered:
    """Batches for DuckDB, or one column of them, with numbers as names.

    Each query reads them from the beginning.
    """

    def __init__(self, batches: Batches, only: int | None = None) -> None:
        self._batches = batches
        self._columns = range(len(batches.schema)) if only is None else [only]

    def __arrow_c_stream__(self, requested: Any = None) -> Any:
        """See Arrow's PyCapsule interface."""
        fields = [self._batches.schema.field(i) for i in self._columns]
        schema = pa.schema([each.with_name(str(i)) for i, each in enumerate(fields)])
        batches = (
            pa.RecordBatch.from_arrays([batch.column(i) for i in self._columns], schema=schema)
            for batch in self._batches.read()
        )
        return pa.RecordBatchReader.from_batches(schema, batches).__arrow_c_stream__(requested)


def _opened(reading: Reading, file: str) -> Any:
    kind = reading.kind
    source = reading.source(file)
    _ = source.packing()  # its error names the file
    if file == "-" or not Path(file).is_file():
        raise ConfigError(
            f"cannot read {kind} from {source.name}, because its index is at the end; save it "
            "to a file first",
            path=file,
        )
    try:
        if kind == "parquet":
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
        raise ConfigError(f"{file} is not {kind.capitalize()}: {error}", path=file) from None


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
    columns = metadata.row_group(0).to_dict()["columns"]
    found = {
        each["path_in_schema"]: _CODECS.get(each["compression"], each["compression"].lower())
        for each in columns
    }
    plain = (each["path_in_schema"] for each in columns if not each["has_dictionary_page"])
    codecs = set(found.values())
    return codecs.pop() if len(codecs) == 1 else found, frozenset(plain)


# --- writing


def write_typed(
    kind: str,
    file: IO[bytes],
    schema: Any,
    batches: Iterator[Any],
    column: str,
    compression: str | dict[str, str],
    plain: frozenset[str] = frozenset(),
) -> None:
    """Write batches as Parquet or Arrow; ``column`` is the one with the IDs, which never repeat.

    plain: the other columns of Parquet without a dictionary.
    """
    with Output(file) as whole:
        target = pa.PythonFile(whole, "w")
        try:
            if kind == "arrow":
                writer = pa.ipc.new_file(target, schema)
            else:
                writer = _parquet_writer(target, schema, column, compression, plain)
                batches = _groups(batches, schema)
            for some in batches:
                writer.write(some)
                del some  # else a row group stays in memory until the next one is complete
            writer.close()
        except pa.ArrowNotImplementedError as error:
            raise ConfigError(f"cannot write these rows to {kind.capitalize()}: {error}") from None


def _parquet_writer(
    target: Any,
    schema: Any,
    column: str,
    compression: str | dict[str, str],
    plain: frozenset[str],
) -> Any:
    """Raises ConfigError for a column with a type that Parquet does not have."""
    from pyarrow.parquet import ParquetFile, ParquetWriter

    if isinstance(compression, dict):
        compression = compression | {column: max(compression.values())}
    repeating: list[str] = []  # each part of a nested column is a column of Parquet
    for each in schema:
        sink = pa.BufferOutputStream()
        try:
            with ParquetWriter(sink, pa.schema([each])):
                pass
        except pa.ArrowException as error:
            raise ConfigError(
                f"cannot write the column {each.name!r} to Parquet, because it has the type "
                f"{each.type} ({error}); cast it to another type, or write Arrow",
                column=each.name,
            ) from None
        parts = ParquetFile(pa.BufferReader(sink.getvalue())).schema
        repeating += [part.path for part in parts if part.path not in plain | {column}]
    return ParquetWriter(target, schema, compression=compression, use_dictionary=repeating)


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
