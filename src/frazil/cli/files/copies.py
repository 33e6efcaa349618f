"""Copies of text files with an ID in each row: every other byte of a row stays as it was.

The text of an ID is inserted into the block that was read, at one place in each row; Arrow joins
the pieces. An ID, or a prefix, holds no delimiter and no quote, so no row needs new quotes; only
the name of the column may need them, in the header. Blank lines are left out. A copy of several
files has one header, which all of them must share.
"""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.buffers import one_text
from frazil.cli.files.csv_head import CsvHead, open_csv
from frazil.cli.files.rows import Positions, Rows
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["Cut", "Open", "Place", "column_exists", "csv_text", "cut_csv"]


Open = Callable[[str], Source]


@dataclass(frozen=True)
class Place:
    """The new column: its name, and whether it is the last one."""

    column: str
    last: bool


@dataclass(frozen=True)
class Cut:
    """Bytes before the rows, the rows, and where their IDs go, between ``left`` and ``right``.

    ``left`` and ``right`` are scalars of Arrow, or an array with one for each row.
    """

    before: bytes
    rows: Rows
    at: Positions
    left: Any
    right: Any

    def joined(self, ids: Any) -> list[Any]:
        """The bytes of the rows with these IDs, an Arrow array of strings."""
        count = len(self.at)
        if not count:
            return [self.before]
        offsets = np.zeros(count + 1, np.int32)
        offsets[1:] = self.at
        pieces = pa.Array.from_buffers(
            pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(self.rows.data)]
        )
        joined = pc.binary_join_element_wise(
            pieces, self.left, ids.cast(pa.binary()), self.right, one_text(b"")
        )
        _, ends, data = joined.buffers()
        size = int(np.frombuffer(ends, np.int32)[count])
        return [self.before, data[:size], memoryview(self.rows.data)[int(self.at[-1]) :]]


def column_exists(name: str, column: str) -> ConfigError:
    """The error for a new column with the name of an existing one."""
    return ConfigError(
        f"{name} already has a column {column!r}; name another with --column", column=column
    )


def csv_text(fields: list[str], delimiter: str) -> str:
    """A row of CSV without its line end."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(fields)
    return text.getvalue()[:-1]


def cut_csv(
    files: list[str], opened: Open, place: Place, *, header: bool, delimiter: str | None
) -> Iterator[Cut]:
    """The rows of CSV files, cut where their IDs go."""
    first: CsvHead | None = None
    ended = True  # whether the last row has a line end
    for file in files:
        with opened(file) as source:
            head, blocks = open_csv(source, header=header, delimiter=delimiter)
            if header and place.column in head.names:
                raise column_exists(source.name, place.column)
            before = _opening(head, place) if first is None else b""
            first = first or head
            _check_same(source, first, head)
            mark = head.delimiter.encode()
            left, right = map(one_text, (mark, b"") if place.last else (b"", mark))
            for some in blocks:
                rows = some.without_blank()
                if len(rows.ends):
                    before += b"" if ended else b"\n"
                    ended = rows.data[-1:] in (b"\n", b"\r")
                yield Cut(before, rows, rows.bodies if place.last else rows.starts, left, right)
                before = b""


def _opening(head: CsvHead, place: Place) -> bytes:
    """The byte order mark and the header with the new column."""
    if head.header is None:
        return head.bom
    name, mark = csv_text([place.column], head.delimiter).encode(), head.delimiter.encode()
    body = head.header.rstrip(b"\r\n")
    end = head.header[len(body) :]
    return head.bom + (body + mark + name if place.last else name + mark + body) + end


def _check_same(source: Source, first: CsvHead, head: CsvHead) -> None:
    if first.delimiter != head.delimiter or (
        first.header is not None and first.names != head.names
    ):
        raise ConfigError(
            f"{source.name} has another header or delimiter than the first file; stamp it by "
            "itself, or write --to parquet, jsonl or arrow, where columns are matched by name",
            path=source.path,
        )
