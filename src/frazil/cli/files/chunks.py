"""Chunks: a table of any size as a stream of parts of bounded size.

Libraries for tables read a table into memory, and tables that need IDs later are often large. Here
a table is read once, forward, some thousand rows at a time. Each row keeps its text from the file
beside the parsed record, so that a writer of the same format copies the text and loses nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from frazil.cli.files.streams import Source

__all__ = ["Chunk", "LineTable", "Table"]

_ROWS = 16_384
_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: the number of each, its text (none in Parquet), and its parsed record.

    Numbers count from 1: the line on which a row begins, or in Parquet the row itself.
    """

    numbers: Sequence[int]
    texts: list[str]
    records: Any


class Table(Protocol):
    """A file that is read once, as a table."""

    source: Source
    unit: str
    """The unit of row numbers: line or row."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; for JSON Lines, the keys of the first row."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows."""

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """The rows of a chunk by column name. Raises ConfigError for rows with other columns."""

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """One column of a chunk; None where a row has no such column."""

    def bytes_read(self) -> int:
        """Bytes read, of ``source.size``."""


class LineTable:
    """The base of tables that are text."""

    unit = "line"

    def __init__(self, source: Source) -> None:
        self.source = source

    def bytes_read(self) -> int:
        """Bytes read, of ``source.size``."""
        return self.source.bytes_read()

    @staticmethod
    def chunked(rows: Iterator[tuple[int, str, Any]]) -> Iterator[Chunk]:
        """Chunks of rows that are given as number, text and record."""
        numbers: list[int] = []
        texts: list[str] = []
        records: list[Any] = []
        size = 0
        for number, text, record in rows:
            numbers.append(number)
            texts.append(text)
            records.append(record)
            size += len(text)
            if size >= _CHARACTERS or len(texts) == _ROWS:
                yield Chunk(numbers, texts, records)
                numbers, texts, records, size = [], [], [], 0
        if texts:
            yield Chunk(numbers, texts, records)
