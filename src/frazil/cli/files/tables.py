"""Tables by format: CSV, JSON Lines, Parquet, or one ID per line."""

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from frazil.cli.files.chunks import Chunk, Lines, Table
from frazil.cli.files.csv_table import CsvTable
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["FORMATS", "JsonTable", "TextTable", "format_of", "open_table"]

FORMATS = ("csv", "jsonl", "parquet", "text")
_DECODE = json.JSONDecoder().decode  # what json.loads comes down to
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
    """The format given, else that of a file's name (a ``.gz`` does not count), else the default.

    The default is for names without an ending. Raises ConfigError for an ending that is unknown,
    since whoever opens the file believes it, and where there is no default. option: says a format.
    """
    if given is not None:
        return given
    name = Path(path).name.lower().removesuffix(".gz")
    _, dot, ending = name.rpartition(".")
    if dot and ending:
        if f".{ending}" in _SUFFIXES:
            return _SUFFIXES[f".{ending}"]
        raise ConfigError(
            f"{path}: no format is known by the ending '.{ending}'; there are "
            f"{', '.join(_SUFFIXES)}, each also with .gz. Say another format with {option}",
            path=path,
        )
    if default is None:
        what = "standard input" if path == "-" else path
        raise ConfigError(
            f"the format of {what} cannot be told from a name; say it, like {option} csv",
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
    """The table in a file; ``only`` is the one column that will be asked for, if that is known.

    Raises ConfigError for what is no table, and for Parquet without pyarrow.
    """
    if kind == "csv":
        return CsvTable(source, header=header, delimiter=delimiter)
    if kind == "jsonl":
        return JsonTable(source)
    if kind == "text":
        return TextTable(source)
    from frazil.cli.files.parquet import ParquetTable

    return ParquetTable(source, only)


class TextTable(Lines):
    """One ID on each line and nothing else: a single column, whatever it is called."""

    names: tuple[str, ...] = ("id",)

    def chunks(self) -> Iterator[Chunk]:
        """See Table."""
        lines = enumerate(self.source.lines("\n"), 1)
        texts = ((number, line.rstrip("\r\n")) for number, line in lines)
        return self.cut((number, text, text) for number, text in texts if text)

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """See Table."""
        return [{"id": text} for text in chunk.texts]

    def values(self, chunk: Chunk, column: str) -> list[Any]:  # noqa: ARG002 (there is but one)
        """See Table."""
        return chunk.texts


class JsonTable(Lines):
    """One JSON object on each line."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._chunks = self.cut(self._read())
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
                raise self._no_object(number, str(error)) from None
            if type(record) is not dict:
                raise self._no_object(number, f"it is a {type(record).__name__}")
            yield number, line, record

    def _no_object(self, number: int, reason: str) -> ConfigError:
        return ConfigError(
            f"{self.source.name}, line {number}: not a JSON object ({reason}); JSON Lines has one "
            "on each line",
            path=self.source.path,
            line=number,
        )
