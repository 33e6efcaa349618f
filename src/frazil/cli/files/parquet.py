"""Parquet, by record batches; the only module that imports pyarrow.

A Parquet file is read batch by batch, so its size does not matter. A copy keeps the schema, the
metadata and the compression, but not the row groups. A table of another format gets its types from
the first rows; a later row that does not fit them is an error.
"""

from collections.abc import Iterator
from typing import IO, Any

from frazil.cli.files.chunks import Chunk, Table
from frazil.cli.files.invalid_text import invalid_text_error
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["ParquetTable", "ParquetWriter"]

_ROWS = 65_536
_BYTES = 32 << 20


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ConfigError(
            'Parquet needs pyarrow; run: pip install "frazil[parquet]"', extra="parquet"
        ) from None
    return pyarrow


class ParquetTable:
    """A Parquet file, or one column of it; the records of a chunk are a record batch."""

    unit = "row"

    def __init__(self, source: Source, only: str | None = None) -> None:
        self.source = source
        self._only = only
        arrow = _pyarrow()
        if source.size is None:
            raise ConfigError(
                f"cannot read Parquet from {source.name}, because its index is at the end; save "
                "it to a file first",
                path=source.path,
            )
        try:
            self.file = arrow.parquet.ParquetFile(source.stored)
        except arrow.ArrowInvalid as error:
            raise ConfigError(f"{source.name} is not Parquet: {error}", path=source.path) from None
        self._rows_done = 0

    @property
    def names(self) -> tuple[str, ...]:
        """See Table."""
        return tuple(self.file.schema_arrow.names)

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        arrow = _pyarrow()
        metadata = self.file.metadata
        size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        rows = max(1, min(_ROWS, _BYTES * metadata.num_rows // max(size, 1)))
        columns = None if self._only is None else [self._only]
        try:
            for batch in self.file.iter_batches(rows, columns=columns):
                first = self._rows_done + 1
                self._rows_done += batch.num_rows
                yield Chunk(range(first, first + batch.num_rows), [], batch)
        except (arrow.ArrowException, OSError) as error:
            raise ConfigError(
                f"cannot read {self.source.name} to its end: {error}", path=self.source.path
            ) from None

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        return list(chunk.records.to_pylist())

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """See Table."""
        return list(chunk.records.column(column).to_pylist())

    def bytes_read(self) -> int:
        """Bytes read, of ``source.size``, estimated from the rows."""
        rows: int = self.file.metadata.num_rows
        return (self.source.size or 0) * self._rows_done // max(1, rows)

    @property
    def compression(self) -> str | dict[str, str]:
        """The compression of the columns, in the form that a writer accepts."""
        metadata = self.file.metadata
        if not metadata.num_row_groups:
            return "snappy"
        group = metadata.row_group(0)
        columns = [group.column(i) for i in range(group.num_columns)]
        found = {column.path_in_schema: _CODECS[column.compression] for column in columns}
        codecs = set(found.values())
        return codecs.pop() if len(codecs) == 1 else found


_CODECS = {name: name.lower() for name in ("SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4")} | {
    "UNCOMPRESSED": "none",
    "LZ4_RAW": "lz4",
}


class ParquetWriter:
    """Writes the rows of any table with an ID column; see ``writers``."""

    def __init__(
        self, file: IO[bytes], table: Table, column: str, *, last: bool, numeric: bool
    ) -> None:
        self._arrow = _pyarrow()
        self._file = _CountedFile(file)
        self._table = table
        self._last = last
        id_type = self._arrow.int64() if numeric else self._arrow.string()
        self._field = self._arrow.field(column, id_type)
        self._schema: Any = None
        self._writer: Any = None
        if isinstance(table, ParquetTable):
            self._open(table.file.schema_arrow, table.compression)

    def write(self, chunk: Chunk, ids: list[Any]) -> None:
        """Write a chunk with its IDs."""
        column = self._arrow.array(ids, self._field.type)
        batch = chunk.records if isinstance(self._table, ParquetTable) else self._batch(chunk)
        arrays = list(batch.columns)
        arrays.insert(batch.num_columns if self._last else 0, column)
        self._writer.write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=self._full))

    def close(self) -> None:
        """Write the index at the end of the file."""
        if self._writer is None:
            strings = [(name, self._arrow.string()) for name in self._table.names]
            self._open(self._arrow.schema(strings))
        self._writer.close()

    def abandon(self) -> None:
        """Write nothing more: with its index, an incomplete file would look complete."""
        self._file.abandoned = True

    def _open(self, schema: Any, compression: Any = "snappy") -> None:
        self._schema = schema
        self._full = schema.insert(len(schema) if self._last else 0, self._field)
        if isinstance(compression, dict):
            compression = compression | {self._field.name: max(compression.values())}
        self._writer = self._arrow.parquet.ParquetWriter(
            self._file, self._full, compression=compression
        )

    def _batch(self, chunk: Chunk) -> Any:
        rows = self._table.rows(chunk)
        arrow = self._arrow
        try:
            if self._writer is None:
                self._open(_inferred(arrow, rows))
            known = set(self._schema.names)
            for number, row in zip(chunk.numbers, rows, strict=True):
                if not row.keys() <= known:
                    raise self._misfit(chunk, number, f"unknown column {min(row.keys() - known)!r}")
            return arrow.RecordBatch.from_pylist(rows, schema=self._schema)
        except UnicodeEncodeError:
            raise invalid_text_error(self._table, chunk, rows) from None
        except (arrow.ArrowException, TypeError, OverflowError) as error:
            raise self._misfit(chunk, chunk.numbers[0], str(error)) from None

    def _misfit(self, chunk: Chunk, number: int, reason: str) -> ConfigError:
        source, unit = self._table.source, self._table.unit
        return ConfigError(
            f"{source.name}, {unit}s {number} to {chunk.numbers[-1]}: {reason}; all rows of a "
            "Parquet file have the columns and types of the first ones; correct the input, or "
            "write JSON Lines",
            path=source.path,
        )


def _inferred(arrow: Any, rows: list[dict[str, Any]]) -> Any:
    """The schema of some rows: each key is a column; a column without values is text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    complete = [{name: row.get(name) for name in names} for row in rows]
    schema = arrow.RecordBatch.from_pylist(complete).schema
    return arrow.schema(
        [
            field.with_type(arrow.string()) if arrow.types.is_null(field.type) else field
            for field in schema
        ]
    )


class _CountedFile:
    """A file that counts the bytes written to it: Parquet needs ``tell``, and a pipe has none."""

    closed = False
    abandoned = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = 0

    def write(self, data: bytes) -> int:
        if not self.abandoned:
            self._file.write(data)
        self._size += memoryview(data).nbytes
        return memoryview(data).nbytes

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Do nothing; the owner of the file flushes it."""

    def close(self) -> None:
        """Leave the file open; its owner closes it."""
        self.closed = True
