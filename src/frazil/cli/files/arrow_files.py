"""Typed rows from Parquet and Arrow, in record batches, as pyarrow reads them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from frazil.cli.files.memory import Memory
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["Batches", "direct", "opened"]

_CODECS = {name: name.lower() for name in ("SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4")} | {
    "UNCOMPRESSED": "none",
    "LZ4_RAW": "lz4",
}


@dataclass(frozen=True)
class Batches:
    """The rows: their schema, the batches, and the compression of the columns in Parquet."""

    schema: Any
    batches: Iterator[Any]
    compression: str | dict[str, str] = "snappy"
    fraction: Callable[[], float] = field(default=lambda: 0.0)
    """How much has been read, 0 to 1."""


def direct(reading: Reading, files: list[tuple[str, Any]]) -> Batches:
    """Batches as the files have them."""
    first = files[0][1]
    schema = first.schema_arrow if reading.kind == "parquet" else first.schema
    total = sum(_rows(each) for _, each in files)
    done = 0

    def batches() -> Iterator[Any]:
        nonlocal done
        for file, each in files:
            try:
                for batch in _batches(each, reading.memory):
                    done += batch.num_rows
                    yield batch
            except (pa.ArrowException, OSError) as error:
                raise ConfigError(f"cannot read {file} to its end: {error}", path=file) from None

    compression = _compression(first) if reading.kind == "parquet" else "snappy"
    return Batches(schema, batches(), compression, lambda: done / max(total, 1))


def opened(kind: str, file: str) -> Any:
    """A Parquet or Arrow file as pyarrow opens it. Raises ConfigError if it is not one."""
    with Source(file) as source:  # its error names the file
        if source.size is None:
            raise ConfigError(
                f"cannot read {kind} from {source.name}, because its index is at the end; save it "
                "to a file first",
                path=file,
            )
    try:
        if kind == "parquet":
            # Data that is read ahead would be kept until the end of the file.
            return pa.parquet.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        mapped = pa.memory_map(file)
        try:
            return pa.ipc.open_file(mapped)
        except pa.ArrowInvalid:
            mapped.seek(0)
            return pa.ipc.open_stream(mapped)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{file} is not {kind.capitalize()}: {error}", path=file) from None


def _rows(opened: Any) -> int:
    metadata = getattr(opened, "metadata", None)
    return getattr(metadata, "num_rows", 0) or 0


def _batches(opened: Any, memory: Memory) -> Iterator[Any]:
    if isinstance(opened, pa.parquet.ParquetFile):
        metadata = opened.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        yield from opened.iter_batches(memory.rows_for(size, metadata.num_rows))
    elif isinstance(opened, pa.ipc.RecordBatchFileReader):
        for i in range(opened.num_record_batches):
            yield opened.get_batch(i)
    else:
        yield from opened


def _compression(opened: Any) -> str | dict[str, str]:
    metadata = opened.metadata
    if not metadata.num_row_groups:
        return "snappy"
    group = metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    found = {column.path_in_schema: _CODECS[column.compression] for column in columns}
    codecs = set(found.values())
    return codecs.pop() if len(codecs) == 1 else found
