"""One column of a file, in batches, with the line or row of each value.

Text is cut into fields as bytes, without a parser (see ``rows``): an audit needs one column, and a
byte that is not UTF-8 in another one does not matter. Values are an Arrow array of integers or of
binary texts, or a list where they are of several kinds. Blank lines are skipped.
"""

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.arrow_files import check_column, open_direct
from frazil.cli.files.buffers import as_arrow
from frazil.cli.files.csv_head import CsvHead, open_csv
from frazil.cli.files.reading import Reading
from frazil.cli.files.rows import Rows, Values, is_regular, split_lines
from frazil.cli.files.streams import Source

__all__ = ["open_values"]

_FIRST_WIDTH = 64  # characters; no ID is longer
_UUID_BYTES = 16
_UUID_PLACES = [i for i in range(36) if i not in (8, 13, 18, 23)]  # of the digits in a text


def open_values(
    reading: Reading, source: Source, column: str
) -> tuple[str, Iterator[Values], Callable[[], int]]:
    """The unit of row numbers (line or row), the values of a column, and the bytes read so far.

    Raises ConfigError if a file that names its columns has no such column.
    """
    if reading.kind in ("parquet", "arrow"):
        found = open_direct(reading, source.path, column)
        size = source.size or 0
        return "row", _of_batches(found.batches), lambda: int(size * found.fraction())
    if reading.kind == "csv":
        head, blocks = open_csv(source, header=reading.header, delimiter=reading.delimiter)
        hint = ", or use --no-header if its first line is a row"
        check_column(head.names, column, source.name, hint)
        index = head.names.index(column)
        return "line", (_of_csv(head, rows, index) for rows in blocks), source.bytes_read
    lines = split_lines(source, source.blocks())
    if reading.kind == "text":
        return "line", map(_of_text, lines), source.bytes_read
    from frazil.cli.files.json_lines import json_values

    return "line", json_values(source, lines, column), source.bytes_read


def _of_batches(batches: Iterator[Any]) -> Iterator[Values]:
    done = 0
    for batch in batches:
        numbers = np.arange(done + 1, done + 1 + batch.num_rows)
        done += batch.num_rows
        column = _plain(batch.column(0))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.cast(pa.binary()) if not column.null_count else column.to_pylist()
        elif pa.types.is_decimal(column.type) and column.type.scale == 0:
            column = [None if value is None else int(value) for value in column.to_pylist()]
        elif not pa.types.is_integer(column.type) or column.null_count:
            column = column.to_pylist()
        yield Values(column, numbers)


def _plain(column: Any) -> Any:
    """A column with each value in its place, decimals without a fraction and UUIDs as texts."""
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        try:
            return column.cast(pa.uint64())
        except pa.ArrowInvalid:  # negative, or of more than 64 bits
            return column
    if pa.types.is_fixed_size_binary(column.type) and column.type.byte_width == _UUID_BYTES:
        return _uuid_texts(column)
    return column


def _uuid_texts(column: Any) -> Any:
    """UUIDs of 16 bytes as texts."""
    data = column.buffers()[1]
    size = _UUID_BYTES * len(column)
    codes = np.frombuffer(data, np.uint8)[_UUID_BYTES * column.offset :][:size].reshape(-1, 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    texts = np.full((len(column), 36), ord("-"), np.uint8)
    texts[:, _UUID_PLACES] = digits[np.stack([codes >> 4, codes & 15], axis=2).reshape(-1, 32)]
    ends = np.arange(0, texts.size + 1, 36, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(texts.tobytes())]
    texts = pa.Array.from_buffers(pa.string(), len(column), buffers)
    return pc.if_else(column.is_valid(), texts, None) if column.null_count else texts


def _of_text(rows: Rows) -> Values:
    keep = np.flatnonzero(rows.bodies > rows.starts)
    return Values(_binary(rows, rows.starts[keep], rows.bodies[keep]), _lines(rows, keep))


def _lines(rows: Rows, keep: Any) -> Any:
    """The lines of some rows."""
    if rows.one_line_each:
        return rows.first_line + keep
    return rows.lines[keep]


def _binary(rows: Rows, starts: Any, ends: Any) -> Any:
    """Parts of a block as an Arrow array."""
    offsets = np.empty(2 * len(starts) + 1, np.int32)
    offsets[:-1:2], offsets[1::2], offsets[-1] = starts, ends, len(rows.data)
    pieces = pa.Array.from_buffers(
        pa.binary(), 2 * len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(rows.data)]
    )
    return pieces.take(as_arrow(np.arange(0, 2 * len(starts), 2)))


def _of_csv(head: CsvHead, rows: Rows, index: int) -> Values:
    keep = np.flatnonzero(rows.bodies > rows.starts)
    numbers = _lines(rows, keep)
    found = _fields(rows, keep, ord(head.delimiter), index)
    if found is not None:
        return Values(found, numbers)
    text = rows.data.decode("utf-8", "surrogateescape")
    records = filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter))
    values = [record[index] if index < len(record) else None for record in records]
    return Values(values, numbers)


def _fields(rows: Rows, keep: Any, delimiter: int, index: int) -> Any:
    """One field of each row; None where only a parser can tell."""
    if not index and (found := _first_fields(rows, keep, delimiter)) is not None:
        return found
    marks = np.flatnonzero(rows.codes == delimiter)
    if b'"' in rows.data:
        quotes = np.flatnonzero(rows.codes == ord('"'))
        if not is_regular(rows.data, rows.codes, quotes, delimiter):
            return None
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    starts, ends = rows.starts[keep], rows.bodies[keep]
    table = _table(marks, starts, ends)
    if table is not None and index <= table.shape[1]:
        starts = table[:, index - 1] + 1 if index else starts
        ends = table[:, index] if index < table.shape[1] else ends
    elif index:
        # One mark more, so that every row has a next one.
        at = np.searchsorted(marks, starts) + index - 1
        marks = np.append(marks, [len(rows.data)] * (index + 1))
        if (marks[at] >= ends).any():
            return None
        starts, ends = marks[at] + 1, np.minimum(marks[at + 1], ends)
    else:
        marks = np.append(marks, len(rows.data))
        ends = np.minimum(marks[np.searchsorted(marks, starts)], ends)
    # A field is empty only before its end, so this byte exists.
    if (rows.codes[np.minimum(starts, len(rows.data) - 1)] == ord('"')).any():
        quoted = (ends - starts >= 2) & (rows.codes[np.minimum(starts, len(rows.data) - 1)] == 34)
        starts, ends = starts + quoted, ends - quoted
        found = _binary(rows, starts, ends)
        return None if b'"' in b"".join(found.to_pylist()) else found
    return _binary(rows, starts, ends)


def _first_fields(rows: Rows, keep: Any, delimiter: int) -> Any:
    """The first field of each row, where all are equally long and without quotes; else None.

    Such a field ends at the next delimiter, so the rest of the row is not read.
    """
    starts, ends = rows.starts[keep], rows.bodies[keep]
    if not len(starts):
        return None
    width = rows.data.find(delimiter, starts[0]) - int(starts[0])
    if not 0 < width <= _FIRST_WIDTH or (starts + width >= ends).any():
        return None
    texts = np.lib.stride_tricks.sliding_window_view(rows.codes, width + 1)[starts]
    if (texts[:, -1] != delimiter).any():
        return None
    inner = texts[:, :-1]
    if (inner == delimiter).any() or (inner == ord('"')).any():
        return None
    return _binary(rows, starts, starts + width)


def _table(marks: Any, starts: Any, ends: Any) -> Any:
    """A matrix: the delimiters of each row. None if some rows have more of them than others."""
    count, odd = divmod(len(marks), max(len(starts), 1))
    if odd or not count:
        return None
    table = marks.reshape(-1, count)
    whole = (table[:, 0] >= starts).all() and (table[:, -1] < ends).all()
    return table if whole else None
