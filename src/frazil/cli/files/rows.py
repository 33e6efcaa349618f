"""The rows of a text file, found in blocks of bytes.

A copy of a CSV file has to keep every byte of a row: quotes, spaces, line ends, even bytes that are
not text. A parser that returns values has lost them, and it is slow. A row ends at a line end
outside of quotes, and that is all a copy needs to know. numpy compares whole blocks: a line end is
outside if the number of quotes before it is even.

That is true if each quote that opens a field stands at the beginning of one. Python's reader takes
another quote literally, as in ``5" pipe``. Where one exists, or a line end that is a lone carriage
return, Python's reader finds the rows of the block. Limits: the quote is ``"``, the delimiter an
ASCII character, and a row has at most 16 MiB.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["Positions", "Rows", "Values", "is_regular", "split_csv", "split_lines"]

Positions = NDArray[np.int64]

_ROW_BYTES = 16 << 20
_LF, _CR, _QUOTE = 10, 13, 34


@dataclass(frozen=True)
class Rows:
    """Whole rows in a block: row i is ``data[ends[i - 1]:ends[i]]``, with its line end."""

    data: bytes
    ends: Positions
    first_line: int

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """The block as numbers."""
        return np.frombuffer(self.data, np.uint8)

    @cached_property
    def starts(self) -> Positions:
        """Where each row begins."""
        starts = np.zeros_like(self.ends)
        starts[1:] = self.ends[:-1]
        return starts

    @cached_property
    def bodies(self) -> Positions:
        """Where the text of each row ends, before its line end."""
        ends = self.ends.copy()
        for end in (_LF, _CR) if b"\r" in self.data else (_LF,):
            # A row is never empty, so the byte before its end is its own.
            has = (ends > self.starts) & (self.codes[np.maximum(ends - 1, 0)] == end)
            ends -= has
        return ends

    @cached_property
    def breaks(self) -> Positions:
        """Where lines end: line feeds, and carriage returns without one."""
        if b'"' in self.data or b"\r" in self.data:
            return line_breaks(self.data, self.codes)
        whole = self.ends if self.data.endswith(b"\n") else self.ends[:-1]
        return whole - 1  # each line is a row

    @cached_property
    def lines(self) -> Positions:
        """The line on which each row begins."""
        lines: Positions = self.first_line + np.searchsorted(self.breaks, self.starts)
        return lines

    @cached_property
    def one_line_each(self) -> bool:
        """Whether each row is one line."""
        open_line = not self.data.endswith((b"\n", b"\r"))
        return len(self.breaks) + open_line == len(self.ends)

    def row(self, index: int) -> bytes:
        """The bytes of one row."""
        return self.data[self.starts[index] : self.ends[index]]

    def without_blank(self) -> "Rows":
        """The same without blank rows, whose lines are then no longer known."""
        blank = self.bodies == self.starts
        if not blank.any():
            return self
        keep = ~blank
        data = b"".join([self.row(int(i)) for i in np.flatnonzero(keep)])
        return Rows(data, np.cumsum((self.ends - self.starts)[keep]), self.first_line)

    def after(self, count: int) -> "Rows":
        """The rows after the first ``count``."""
        if count == 0:
            return self
        cut = int(self.ends[count - 1])
        line = int(self.lines[count]) if count < len(self.ends) else self.first_line
        return Rows(self.data[cut:], self.ends[count:] - cut, line)


class Values(NamedTuple):
    """Some values, and the line or row of each."""

    values: Any
    numbers: Any


def line_breaks(data: bytes, numbers: NDArray[np.uint8]) -> Positions:
    """Where lines end: line feeds, and carriage returns without one."""
    breaks = numbers == _LF
    if b"\r" in data:
        alone = numbers == _CR
        alone[:-1] &= ~breaks[1:]
        breaks = breaks | alone
    return np.flatnonzero(breaks)


def split_lines(source: Source, blocks: Iterable[bytes]) -> Iterator[Rows]:
    """The lines of a text, blank ones included. Raises ConfigError for one that is too long."""
    return _split(source, blocks, None)


def split_csv(source: Source, blocks: Iterable[bytes], delimiter: str) -> Iterator[Rows]:
    """The rows of CSV, blank ones included. Raises ConfigError for a row that never ends."""
    return _split(source, blocks, delimiter)


def _split(source: Source, blocks: Iterable[bytes], delimiter: str | None) -> Iterator[Rows]:
    rest, line = b"", 1
    for block in blocks:
        data = rest + block
        ends = _ends(source, data, delimiter, line, final=False)
        cut = int(ends[-1]) if len(ends) else 0
        if len(data) - cut > _ROW_BYTES:
            number = line + len(line_breaks(data[:cut], np.frombuffer(data, np.uint8)[:cut]))
            raise source.error_at(
                number,
                f"the row has more than {_ROW_BYTES} bytes; is the format right, and is every "
                "quote closed? Set another format with --format",
            )
        if cut:
            rows = Rows(data[:cut] if cut < len(data) else data, ends, line)
            yield rows
            line += len(rows.breaks)
        rest = data[cut:]
    if rest:
        yield Rows(rest, _ends(source, rest, delimiter, line, final=True), line)


def _ends(
    source: Source, data: bytes, delimiter: str | None, line: int, *, final: bool
) -> Positions:
    """Where the rows of a block end. If it is not the final one, the last row may be left out."""
    numbers = np.frombuffer(data, np.uint8)
    if delimiter is None:
        ends = np.flatnonzero(numbers == _LF) + 1
        quotes = ends[:0]
    else:
        quotes = np.flatnonzero(numbers == _QUOTE) if b'"' in data else np.zeros(0, np.int64)
        regular = is_regular(data, numbers, quotes, ord(delimiter))
        if not regular or (final and len(quotes) % 2):
            return _read_ends(source, data, delimiter, line, final=final)
        ends = np.flatnonzero(numbers == _LF)
        if len(quotes):
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        ends = ends + 1
    if final and (not len(ends) or ends[-1] < len(data)):
        ends = np.append(ends, len(data))
    return ends


def _plain_line_ends(data: bytes, numbers: NDArray[np.uint8]) -> bool:
    """Whether every carriage return has a line feed after it, but for one at the end."""
    if b"\r" not in data:
        return True
    returns = np.flatnonzero(numbers[:-1] == _CR)
    return bool((numbers[returns + 1] == _LF).all())


def is_regular(data: bytes, numbers: NDArray[np.uint8], quotes: Positions, delimiter: int) -> bool:
    """Whether each quote that opens stands at the beginning of a field, or repeats another.

    Then the number of quotes before a byte tells whether it is inside of quotes. Carriage returns
    must have a line feed after them.
    """
    if not _plain_line_ends(data, numbers):
        return False
    opening = quotes[::2]
    before = numbers[opening[opening > 0] - 1]
    known = (before == delimiter) | (before == _LF) | (before == _CR) | (before == _QUOTE)
    return bool(known.all())


def _read_ends(source: Source, data: bytes, delimiter: str, line: int, *, final: bool) -> Positions:
    """Where rows end, as Python's reader finds them. Latin-1 has one character for each byte."""
    used = lines_read = 0
    ends: list[int] = []
    starts_on: list[int] = []

    def lines() -> Iterator[str]:
        nonlocal used, lines_read
        for text in io.StringIO(data.decode("latin-1"), newline=""):
            used += len(text)
            lines_read += 1
            yield text

    csv.field_size_limit(2 * _ROW_BYTES)
    begins = line
    try:
        for _ in csv.reader(lines(), delimiter=delimiter):
            ends.append(used)
            starts_on.append(begins)
            begins = line + lines_read
    except csv.Error as error:
        raise _invalid(source, begins, str(error)) from None
    if final:
        last = data[ends[-2] if len(ends) > 1 else 0 :].decode("latin-1")
        _check_closed(source, last, delimiter, starts_on[-1])
    else:
        ends = ends[:-1]
    return np.array(ends, np.int64)


def _check_closed(source: Source, text: str, delimiter: str, line: int) -> None:
    """Raise ConfigError if the last row has a quote that is never closed.

    The reader does not report this, but then takes another line for a part of the row.
    """
    more = io.StringIO(f"{text}\nx", newline="")
    if len(list(csv.reader(more, delimiter=delimiter))) == 1:
        raise _invalid(source, line, "a quote is never closed")


def _invalid(source: Source, line: int, reason: str) -> ConfigError:
    return ConfigError(
        f"{source.name}: the row that begins on line {line} is not CSV: {reason}",
        path=source.path,
        line=line,
    )
