"""Tables by format: CSV, JSON Lines, Parquet, or one ID per line."""

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from frazil.cli.files.chunks import Chunk, LineTable, Table
from frazil.cli.files.csv_table import CsvTable
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["FORMATS", "JsonTable", "TextTable", "format_of", "open_table"]

FORMATS = ("csv", "jsonl", "parquet", "text")
_DECODE = json.JSONDecoder().decode  # json.loads without its checks
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}


def format_of(
    path: str, given: str | None, default: str | None = None, *, option: str = "--format"
) -> str:
    """The given format, else that of the file's name without ``.gz``, else the default.

    The default applies to names without an ending. Raises ConfigError for an unknown ending, and
    if there is no default. option: the option that sets the format, for errors.
    """
    if given is not None:
        return given
    name = Path(path).name.lower().removesuffix(".gz")
    _, dot, ending = name.rpartition(".")
    if dot and ending:
        if f".{ending}" in _SUFFIXES:
            return _SUFFIXES[f".{ending}"]
        raise ConfigError(
            f"{path}: the ending '.{ending}' is unknown; known are {', '.join(_SUFFIXES)}, each "
            f"also with .gz; set the format with {option}",
            path=path,
        )
    if default is None:
        name = "standard input" if path == "-" else path
        raise ConfigError(
            f"{name} has no ending that names its format; set it, like {option} csv",
            path=path,
        )
    return default


def open_table(
    source: Source,
    kind: str,
    *,
    header: bool = True,
    delimiter: str | None = None,
    only: str | None = None,
) -> Table:
    """The table in a file; ``only`` is the one column to read.

    Raises ConfigError for a file that is not a table, and for Parquet without pyarrow.
    """
    if kind == "csv":
        return CsvTable(source, header=header, delimiter=delimiter)
    if kind == "jsonl":
        return JsonTable(source)
    if kind == "text":
        return TextTable(source)
    from frazil.cli.files.parquet import ParquetTable

    return ParquetTable(source, only)


class TextTable(LineTable):
    """One ID per line: a table of one column, which any column name selects."""

    names: tuple[str, ...] = ("id",)

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        lines = enumerate(self.source.lines("\n"), 1)
        texts = ((number, line.rstrip("\r\n")) for number, line in lines)
        return self.chunked((number, text, text) for number, text in texts if text)

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        return [{"id": text} for text in chunk.texts]

    def values(self, chunk: Chunk, column: str) -> list[Any]:  # noqa: ARG002 (there is only one)
        """See Table."""
        return chunk.texts


class JsonTable(LineTable):
    """One JSON object per line."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._chunks = self.chunked(self._read())
        self._first = list(islice(self._chunks, 1))

    @property
    def names(self) -> tuple[str, ...]:
        """See Table."""
        return tuple(self._first[0].records[0]) if self._first else ()

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        return chain(self._first, self._chunks)

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        return list(chunk.records)

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """See Table."""
        return [record.get(column) for record in chunk.records]

    def _read(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        for number, line in enumerate(self.source.lines("\n"), 1):
            if line.isspace():
                continue
            try:
                record = _DECODE(line)
            except (ValueError, RecursionError) as error:
                raise self._not_an_object(number, str(error)) from None
            if type(record) is not dict:
                raise self._not_an_object(number, f"it is a {type(record).__name__}")
            yield number, line, record

    def _not_an_object(self, number: int, reason: str) -> ConfigError:
        problem = f"not a JSON object ({reason}); JSON Lines has one per line"
        return self.source.error_at(number, problem)
