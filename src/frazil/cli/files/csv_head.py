"""The beginning of a CSV file: its delimiter, its header, and what stands before it.

DuckDB reads the rows. What it would guess is settled here: a wrong guess is a table of other
values, without an error. Without a header, columns are named by their numbers, from 1.

A line ``sep=;`` (Excel's) and blank lines are left out. A comment or a title looks like a header,
so the first lines must have equally many fields, and one with ``#`` needs ``--skip``.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from frazil.cli.files.formats import ending_of, excerpt
from frazil.cli.files.reading import Reading
from frazil.cli.files.streams import Source

_DELIMITERS = ",\t;|"
_SNIFFED_LINES = 50
_ROW_BYTES = 4 << 20


@dataclass(frozen=True)
class CsvHead:
    """What a CSV file begins with.

    before: the bytes before the table, ``lines`` how many lines they are; DuckDB would lose rows
    where these lines have other ends. end: how its lines end, if it has a second one.
    """

    delimiter: str
    names: tuple[str, ...]
    before: int
    lines: int
    end: str
    row_bytes: int


def read_head(reading: Reading, file: str) -> CsvHead:
    """The beginning of a file. Raises ConfigError for an empty file, and for an unclear header."""
    source, delimiter = reading.source(file), reading.delimiter
    data = b""
    for block in source.blocks():
        data += block
        if len(data) >= _ROW_BYTES:
            break
    text = data.decode("utf-8", "surrogateescape")
    at = reading.skip or 0
    lines = list(islice(io.StringIO(text, newline=""), at + 2 * _SNIFFED_LINES))
    if at < len(lines) and (mark := re.fullmatch(r"(?i)sep=(.)[\r\n]*", lines[at])):
        delimiter, at = delimiter or mark[1], at + 1
    while at < len(lines) and not lines[at].strip("\r\n"):
        at += 1
    if at >= len(lines):
        raise source.error(f"{source.name} is empty; a CSV file needs at least a header")
    rest = lines[at : at + _SNIFFED_LINES]
    if delimiter is None:
        delimiter = "\t" if ending_of(source.file) == ".tsv" else _likely_delimiter(rest)
    names, first = _checked(reading, source, lines, at, delimiter)
    end = first[len(first.rstrip("\r\n")) :][-2:]
    end = end if end == "\r\n" else end[-1:]
    if not reading.header:
        names = [str(i + 1) for i in range(len(names))]
    row_bytes = 1 + sum(map(len, rest)) // len(rest)
    before = len("".join(lines[:at]).encode("utf-8", "surrogateescape"))
    return CsvHead(delimiter, tuple(names), before, at, end, row_bytes)


def _checked(
    reading: Reading, source: Source, lines: list[str], at: int, delimiter: str
) -> tuple[list[str], str]:
    """The first row, if the next ones have as many fields, and its last line."""
    reader = csv.reader(lines[at : at + _SNIFFED_LINES], delimiter=delimiter)
    csv.field_size_limit(_ROW_BYTES)
    starts, rows = [at + 1], []
    try:
        for row in reader:
            rows.append(row)
            starts.append(at + 1 + reader.line_num)
    except csv.Error as error:
        raise source.error_at(starts[-1], f"not CSV: {error}") from None
    first = rows[0]
    whole = rows if at + _SNIFFED_LINES >= len(lines) else rows[:-1]
    odd = next((i for i, row in enumerate(whole) if row and len(row) != len(first)), None)
    if odd is not None:
        number = starts[odd]
        raise source.error(
            f"{source.name}: line {at + 1} has {_fields(first)}, and line {number} has "
            f"{_fields(rows[odd])}: {_shown(lines[at])} and {_shown(lines[number - 1])}; if the "
            f"table begins later, skip the lines before it, like --skip {max(odd, 1) + at}; set "
            "the separator with --delimiter",
            line=number,
        )
    if reading.skip is None and first[0].startswith("#"):
        what = "header" if reading.header else "row"
        second = f" and line {at + 2} is {_shown(lines[at + 1])}" if at + 1 < len(lines) else ""
        raise source.error(
            f"{source.name}: line {at + 1} is {_shown(lines[at])}{second}; add --skip {at + 1} if "
            f"the first is a comment, --skip {at} if it is the {what}",
            line=at + 1,
        )
    return first, lines[starts[1] - 2]


def _fields(row: list[str]) -> str:
    return f"{len(row)} field{'s' if len(row) != 1 else ''}"


def _shown(line: str) -> str:
    return repr(excerpt(line.rstrip("\r\n")))


def _likely_delimiter(lines: Sequence[str]) -> str:
    """The one that divides all rows alike, or at least the last three, into the most fields."""

    def score(delimiter: str) -> tuple[bool, bool, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            return False, False, 0
        complete = widths[:-1] or widths or [0]  # the last row may continue below these lines
        alike = min(complete) == max(complete) > 1
        return alike, len(widths) > 2 and min(widths[-3:]) == max(widths[-3:]) > 1, complete[0]

    return max(_DELIMITERS, key=score)
