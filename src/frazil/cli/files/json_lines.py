"""JSON Lines: rows cut where their IDs go, and the values of one key.

A row must be an object. DuckDB checks whole blocks; where it finds an error, Python's reader
decides and names the line.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from frazil.cli.files.buffers import as_arrow, one_text
from frazil.cli.files.copies import Cut, Open, Place, column_exists
from frazil.cli.files.rows import Rows, Values, split_lines
from frazil.cli.files.streams import Source

__all__ = ["cut_json", "json_record", "json_values"]

_BRACE, _END_BRACE, _QUOTE = ord("{"), ord("}"), ord('"')
_BLANKS = (9, 10, 11, 12, 13, 32)  # what Python strips from ASCII
# Rows that are not objects, or have the key.
_UNFIT = (
    "SELECT count(*) FILTER (NOT CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' "
    "AND NOT json_exists(line, $path) ELSE FALSE END) FROM lines"
)
_TYPED = (
    "SELECT CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN json_type(line, $path) "
    "ELSE 'WRONG' END AS kind, CASE WHEN json_valid(line) THEN json_extract_string(line, $path) "
    "END AS value FROM lines"
)
_KINDS = {"VARCHAR": pa.binary(), "UBIGINT": pa.uint64()}
_DECODE = json.JSONDecoder().decode  # json.loads without its checks


def json_values(source: Source, blocks: Iterator[Rows], column: str) -> Iterator[Values]:
    """The values of a key. Raises ConfigError for a row that is not an object."""
    lines = _Lines(column)
    for rows in blocks:
        found = lines.run(_TYPED, rows)
        kinds = [] if found is None else found.column("kind").unique().to_pylist()
        kind = _KINDS.get(kinds[0]) if len(kinds) == 1 else None
        if found is None or kind is None:
            yield _read_json(source, rows, column)
        else:
            values = found.column("value").combine_chunks().cast(kind)
            yield Values(values, rows.first_line + np.arange(len(rows.ends)))


def _read_json(source: Source, rows: Rows, column: str) -> Values:
    values, numbers = [], []
    for i in range(len(rows.ends)):
        record = json_record(source, rows, i)
        if record is not None:
            values.append(record.get(column))
            numbers.append(rows.first_line + i)
    return Values(values, np.array(numbers, np.int64))


def cut_json(files: list[str], opened: Open, place: Place) -> Iterator[Cut]:
    """The rows, cut where their IDs go. Raises ConfigError for a row that is not an object."""
    lines = _Lines(place.column)
    key = json.dumps(place.column, ensure_ascii=False).encode()
    ended = True
    for file in files:
        with opened(file) as source:
            for some in split_lines(source, source.blocks()):
                rows = _without_spaces(some)
                if not len(rows.ends):
                    continue
                unfit = lines.run(_UNFIT, rows)
                if unfit is None or unfit.column(0)[0].as_py():
                    _check(source, some, place.column)
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


class _Lines:
    """Blocks of lines as tables of DuckDB, for queries about a key."""

    def __init__(self, column: str) -> None:
        self._path = f'$."{column}"' if '"' not in column and "\\" not in column else None
        self._database = duckdb.connect()

    def run(self, query: str, rows: Rows) -> Any:
        """The result for a block; None if only Python can read the block, or the key."""
        try:
            rows.data.decode()
        except UnicodeDecodeError:
            return None
        if self._path is None:
            return None
        offsets = np.zeros(len(rows.ends) + 1, np.int32)
        offsets[1:] = rows.ends
        texts = pa.StringArray.from_buffers(
            len(rows.ends), pa.py_buffer(offsets), pa.py_buffer(rows.data)
        )
        self._database.register("lines", pa.table({"line": texts}))
        return self._database.sql(query, params={"path": self._path}).to_arrow_table()


def _check(source: Source, rows: Rows, column: str) -> None:
    """Raise ConfigError for the first row that is not an object without the key."""
    for i in range(len(rows.ends)):
        record = json_record(source, rows, i)
        if record is not None and column in record:
            raise column_exists(source.name, column)


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
