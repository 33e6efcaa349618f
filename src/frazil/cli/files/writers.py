"""Writers: the rows of a table with an additional column of IDs.

If the format stays the same, the text of a row is copied and the ID is added before or after it.
If the format changes, values are written in the simplest form that reads back the same. In CSV,
null is an empty field, and lists and objects are JSON. In JSON Lines, dates and decimals are
strings, and NaN and infinity are null. An ID is a string, because a reader that takes JSON numbers
as doubles would change it.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from typing import IO, Any
from uuid import UUID

from frazil.cli.files.chunks import Chunk, Table
from frazil.cli.files.csv_table import CsvTable
from frazil.cli.files.invalid_text import invalid_header_error, invalid_text_error
from frazil.cli.files.tables import JsonTable
from frazil.errors import ConfigError

__all__ = ["CsvWriter", "JsonWriter", "Write", "column_exists", "open_writer"]


Write = Callable[[Chunk, list[Any]], None]
"""Writes a chunk with its IDs."""


@contextmanager
def open_writer(
    kind: str, file: IO[bytes], table: Table, column: str, *, last: bool, numeric: bool
) -> Iterator[Write]:
    """Write a table in a format, and at the end of the block the end of the file.

    ``numeric``: IDs are ints, for a Parquet column of int64. Raises ConfigError if the table
    already has the column.
    """
    if column in table.names:
        raise column_exists(table, column)
    copied = {"csv": CsvTable, "jsonl": JsonTable}.get(kind, ())
    if not isinstance(table, copied) and (error := invalid_header_error(table)):
        raise error
    if kind != "parquet":
        text_writer = CsvWriter if kind == "csv" else JsonWriter
        yield text_writer(file, table, column, last=last).write
        return
    from frazil.cli.files.parquet import ParquetWriter

    writer = ParquetWriter(file, table, column, last=last, numeric=numeric)
    try:
        yield writer.write
    except BaseException:
        writer.abandon()
        raise
    writer.close()


def column_exists(table: Table, column: str) -> ConfigError:
    """The error for a new column with the name of an existing one."""
    return ConfigError(
        f"{table.source.name} already has a column {column!r}; name another with --column",
        path=table.source.path,
        column=column,
    )


class CsvWriter:
    """Writes CSV. From CSV it copies the text of each row, else it uses commas and few quotes."""

    def __init__(self, file: IO[bytes], table: Table, column: str, *, last: bool) -> None:
        self._file = file
        self._table = table
        self._last = last
        self._delimiter = table.delimiter if isinstance(table, CsvTable) else ","
        if not isinstance(table, CsvTable):
            names = [*table.names, column] if last else [column, *table.names]
            file.write(self._text([names]).encode())
            return
        if table.source.has_bom:
            _copy(file, "\ufeff")
        if table.header is not None:
            self._copy([table.header], [self._text([[column]])[:-1]])

    def write(self, chunk: Chunk, ids: list[Any]) -> None:
        """Write a chunk with its IDs."""
        if isinstance(self._table, CsvTable):
            self._copy(chunk.texts, ids)
            return
        names = self._table.names
        known = set(names)
        records = self._table.rows(chunk)
        rows = []
        for number, row, n in zip(chunk.numbers, records, ids, strict=True):
            if not row.keys() <= known:
                raise self._table.source.error_at(
                    number,
                    f"the column {min(row.keys() - known)!r} is not in the first row, which "
                    "defines the columns of CSV; write JSON Lines",
                    self._table.unit,
                )
            try:
                fields = [_field(row.get(name)) for name in names]
            except TypeError as error:
                raise _unwritable(self._table, number, error) from None
            rows.append([*fields, n] if self._last else [n, *fields])
        _write(self._file, self._text(rows), self._table, chunk, records)

    def _copy(self, texts: list[str], ids: list[str]) -> None:
        delimiter = self._delimiter
        if not self._last:
            joined = [f"{n}{delimiter}{text}" for n, text in zip(ids, texts, strict=True)]
        else:
            bodies = [text.rstrip("\r\n") for text in texts]
            joined = [
                f"{body}{delimiter}{n}{text[len(body) :]}"
                for body, n, text in zip(bodies, ids, texts, strict=True)
            ]
        _copy(self._file, "".join(joined))

    def _text(self, rows: list[list[Any]]) -> str:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue()


class JsonWriter:
    """Writes JSON Lines. From JSON Lines it copies the text of each object."""

    def __init__(self, file: IO[bytes], table: Table, column: str, *, last: bool) -> None:
        self._file = file
        self._table = table
        self._column = column
        self._key = json.dumps(column, ensure_ascii=False)
        self._last = last

    def write(self, chunk: Chunk, ids: list[Any]) -> None:
        """Write a chunk with its IDs."""
        if not isinstance(self._table, JsonTable):
            column, last = self._column, self._last
            rows = self._table.rows(chunk)
            dumped = [
                self._dumped({**row, column: n} if last else {column: n, **row}, number)
                for number, row, n in zip(chunk.numbers, rows, ids, strict=True)
            ]
            _write(self._file, "".join(dumped), self._table, chunk, rows)
        elif any(self._column in record for record in chunk.records):
            raise column_exists(self._table, self._column)
        else:
            add = self._append if self._last else self._prepend
            lines = [
                add(text, f'{self._key}: "{n}"', ", " if record else "")
                for text, record, n in zip(chunk.texts, chunk.records, ids, strict=True)
            ]
            _copy(self._file, "".join(lines))

    @staticmethod
    def _prepend(text: str, pair: str, comma: str) -> str:
        i = text.index("{") + 1
        return f"{text[:i]}{pair}{comma}{text[i:]}"

    @staticmethod
    def _append(text: str, pair: str, comma: str) -> str:
        i = text.rindex("}")
        return f"{text[:i]}{comma}{pair}{text[i:]}"

    def _dumped(self, row: dict[str, Any], number: int) -> str:
        try:
            try:
                text = _ENCODE(row)
            except ValueError:
                text = _ENCODE(_without_nan(row))
        except TypeError as error:
            raise _unwritable(self._table, number, error) from None
        return text + "\n"


def _copy(file: IO[bytes], text: str) -> None:
    """Write text as it was read, including bytes that are not UTF-8."""
    file.write(text.encode("utf-8", "surrogateescape"))


def _write(
    file: IO[bytes], text: str, table: Table, chunk: Chunk, rows: list[dict[str, Any]]
) -> None:
    """Write the new text of some rows. Raises ConfigError if it is not valid."""
    try:
        file.write(text.encode())
    except UnicodeEncodeError:
        raise invalid_text_error(table, chunk, rows) from None


def _unwritable(table: Table, number: int, error: TypeError) -> ConfigError:
    problem = f"{error}; remove that column, or write Parquet"
    return table.source.error_at(number, problem, table.unit)


def _field(value: Any) -> str:
    """The text of a value in a CSV field."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int | float | list | dict):
        return _ENCODE(_without_nan(value))
    return _plain(value)


def _plain(value: Any) -> str:
    """The text of a value that has no JSON type; raises TypeError for bytes and the like."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta | UUID):
        return str(value)
    raise TypeError(f"cannot write a value of type {type(value).__name__} as text")


# To make an encoder for each row would double the time.
_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode


def _without_nan(value: Any) -> Any:
    """The value with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return value
