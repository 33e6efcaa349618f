"""Writers of tables with an additional column of IDs, one for each format.

Parquet and Arrow keep the types, the metadata, and in Parquet the compression of the input. CSV and
JSON Lines are texts of DuckDB (see ``text_rows``), in which the IDs are inserted.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet

from frazil.cli.files.arrow_files import Batches
from frazil.cli.files.buffers import one_text
from frazil.cli.files.id_column import Ids
from frazil.cli.files.reading import Place, column_exists
from frazil.errors import ConfigError

__all__ = ["joined", "open_writer", "with_ids"]

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


def joined(rows: Any, ids: Any, frame: tuple[str, str], *, last: bool) -> memoryview:
    """The bytes of the texts of rows, each with its ID (see ``text_rows``)."""
    before, after = (one_text(part.encode()).cast(pa.string()) for part in frame)
    parts = [rows, before, ids, after] if last else [before, ids, after, rows]
    kind = pa.large_string() if rows.nbytes > _LARGE_BYTES else pa.string()
    empty = one_text(b"").cast(kind)
    texts = pc.binary_join_element_wise(*(part.cast(kind) for part in parts), empty)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64 if kind == pa.large_string() else np.int32)
    return memoryview(data)[: int(ends[len(texts)])] if data else memoryview(b"")


_LARGE_BYTES = 1 << 30  # a row's ID is added, and 32 bits count the bytes of a batch


@contextmanager
def open_writer(
    kind: str, file: IO[bytes], schema: Any, column: str, compression: str | dict[str, str]
) -> Iterator[Callable[[Any], None]]:
    """A function that writes a batch as Parquet or Arrow; the block's end completes the file."""
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
    except pa.ArrowNotImplementedError as error:
        counted.abandoned = True
        raise ConfigError(f"cannot write these rows to {kind.capitalize()}: {error}") from None
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
