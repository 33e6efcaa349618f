"""Copies of text files with an ID in each row: every other byte of a row stays as it was.

The text of an ID is inserted into the block that was read, at one place in each row; Arrow joins
the pieces. An ID, or a prefix, holds no delimiter and no quote, so no row has to be quoted anew;
only the name of the column may be, in the header. Blank lines are left out. A copy of several files
has one header, which all of them must share.

A row of JSON Lines must be an object without that key. DuckDB checks whole blocks; where it finds
fault, Python's reader decides and names the line.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.buffers import as_arrow, one_text
from frazil.cli.files.csv_head import CsvHead, open_csv
from frazil.cli.files.rows import Positions, Rows, split_lines
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = [
    "Cut",
    "Place",
    "column_exists",
    "csv_text",
    "cut_csv",
    "cut_json",
    "is_utf8",
    "json_record",
]

_BRACE, _END_BRACE, _QUOTE = ord("{"), ord("}"), ord('"')
_BLANKS = (9, 10, 11, 12, 13, 32)  # what Python strips from ASCII
# Rows that are no object, or have the key.
_UNFIT = (
    "SELECT count(*) FILTER (NOT CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' "
    "AND NOT json_exists(line, $path) ELSE FALSE END) FROM lines"
)
_DECODE = json.JSONDecoder().decode  # json.loads without its checks

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


def cut_json(files: list[str], opened: Open, place: Place) -> Iterator[Cut]:
    """The rows of JSON Lines, cut where their IDs go. Raises ConfigError for a row that is none."""
    check = _JsonCheck(place.column)
    key = json.dumps(place.column, ensure_ascii=False).encode()
    ended = True
    for file in files:
        with opened(file) as source:
            for some in split_lines(source, source.blocks()):
                rows = _without_spaces(some)
                if not len(rows.ends):
                    continue
                check(source, some, rows)
                braces = np.flatnonzero(rows.codes == _BRACE)
                opens = braces[np.searchsorted(braces, rows.starts)]
                braces = np.flatnonzero(rows.codes == _END_BRACE)
                closes = braces[np.searchsorted(braces, rows.ends) - 1]
                quotes = np.append(np.flatnonzero(rows.codes == _QUOTE), len(rows.data))
                filled = quotes[np.searchsorted(quotes, opens)] < closes
                empty = one_text(b"")
                comma = pc.if_else(as_arrow(filled), one_text(b", "), empty)
                left, right = one_text(key + b': "'), one_text(b'"')
                if place.last:
                    left = pc.binary_join_element_wise(comma, left, empty)
                else:
                    right = pc.binary_join_element_wise(right, comma, empty)
                before = b"" if ended else b"\n"
                ended = rows.data[-1:] == b"\n"
                yield Cut(before, rows, closes if place.last else opens + 1, left, right)


def _without_spaces(rows: Rows) -> Rows:
    """The rows without those that are only white space."""
    filled = ~np.isin(rows.codes, _BLANKS)
    counts = np.add.reduceat(filled, rows.starts, dtype=np.int64) if len(rows.ends) else rows.ends
    if counts.all():
        return rows
    keep = np.flatnonzero(counts)
    data = b"".join([rows.row(int(i)) for i in keep])
    return Rows(data, np.cumsum((rows.ends - rows.starts)[keep]), rows.first_line)


class _JsonCheck:
    """Checks that rows are objects without the key of the new column."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._path = f'$."{column}"' if '"' not in column and "\\" not in column else None
        self._database = duckdb.connect()

    def __call__(self, source: Source, all_rows: Rows, rows: Rows) -> None:
        """Raise ConfigError for the first row that is not such an object."""
        if self._path is not None and is_utf8(rows.data):
            offsets = np.zeros(len(rows.ends) + 1, np.int32)
            offsets[1:] = rows.ends
            texts = pa.StringArray.from_buffers(
                len(rows.ends), pa.py_buffer(offsets), pa.py_buffer(rows.data)
            )
            self._database.register("lines", pa.table({"line": texts}))
            ((unfit,),) = self._database.execute(_UNFIT, {"path": self._path}).fetchall()
            if not unfit:
                return
        self._check_each(source, all_rows)

    def _check_each(self, source: Source, rows: Rows) -> None:
        for i in range(len(rows.ends)):
            record = json_record(source, rows, i)
            if record is not None and self._column in record:
                raise column_exists(source.name, self._column)


def json_record(source: Source, rows: Rows, i: int) -> dict[str, Any] | None:
    """The object in a row; None for a blank row. Raises ConfigError for anything else."""
    text = rows.row(i).decode("utf-8", "surrogateescape")
    if text.isspace():
        return None
    try:
        record = _DECODE(text)
        reason = f"it is a {type(record).__name__}"
    except (ValueError, RecursionError) as error:
        record, reason = None, str(error)
    if type(record) is not dict:
        problem = f"not a JSON object ({reason}); JSON Lines has one per line"
        raise source.error_at(int(rows.lines[i]), problem)
    return record


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
