"""Chunks: a table of any size as a stream of parts of bounded size.

Reading a table into memory is what libraries for tables do, and the tables that get IDs after the
fact are the large ones. So a table is read forward once, some thousand rows at a time, and a row is
kept as it stood in the file beside what was read from it: whoever writes the same format again can
copy the text and so keep what parsing loses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from frazil.cli.files.streams import Source

__all__ = ["Chunk", "Lines", "Table"]

_ROWS = 16_384
_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows: where each begins, its text (none in Parquet), and what was read from it.

    Numbers count from 1: the line on which a row begins, in Parquet the row itself.
    """

    numbers: Sequence[int]
    texts: list[str]
    records: Any


class Table(Protocol):
    """A file read as a table, once, from its beginning."""

    source: Source
    unit: str
    """What the numbers of rows count: line or row."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns; of JSON Lines the keys of the first row."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows."""

    def rows(self, chunk: Chunk) -> list[dict[str, Any]]:
        """The rows of a chunk by column name. Raises ConfigError for rows of another shape."""

    def values(self, chunk: Chunk, column: str) -> list[Any]:
        """One column of a chunk, None where a row has none."""

    def done(self) -> int:
        """Bytes read, of ``source.size``."""


class Lines:
    """What tables of text have in common."""

    unit = "line"

    def __init__(self, source: Source) -> None:
        self.source = source

    def done(self) -> int:
        """Bytes read, of ``source.size``."""
        return self.source.done()

    @staticmethod
    def cut(rows: Iterator[tuple[int, str, Any]]) -> Iterator[Chunk]:
        """Chunks of rows given as number, text and record."""
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
