"""The beginning of a CSV file: its delimiter, its header, and what stands before it.

DuckDB reads the rows. What it would guess is settled here: a wrong guess is a table of other
values, without an error. Without a header, columns are named by their numbers, from 1.

A line ``sep=;`` (Excel's) and blank lines are left out. A comment or a title looks like a header.
So the first lines must have equally many fields, and a first line that begins with ``#`` needs
``--skip``.
"""

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from frazil.cli.files.formats import ending_of
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

_DELIMITERS = ",\t;|"
_SNIFFED_LINES = 50
_ROW_BYTES = 4 << 20
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True)
class CsvHead:
    """What a CSV file begins with.

    before: the bytes that are not part of the table, ``lines`` how many lines they are; DuckDB
    would lose rows where these lines have other ends. end: how its lines end, if it has a second
    one. row_bytes: about how long a row is.
    """

    delimiter: str
    names: tuple[str, ...]
    before: int
    lines: int
    end: str
    row_bytes: int


def read_head(source: Source, *, header: bool, delimiter: str | None, skip: int | None) -> CsvHead:
    """The beginning of a file. Raises ConfigError for an empty file, and for an unclear header."""
    data = b""
    for block in source.blocks():
        data += block
        if len(data) >= _ROW_BYTES:
            break
    bom = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    text = data[bom:].decode("utf-8", "surrogateescape")
    lines = list(islice(io.StringIO(text, newline=""), (skip or 0) + 2 * _SNIFFED_LINES))
    at = skip or 0
    if at < len(lines) and (mark := _separator(lines[at])):
        delimiter, at = delimiter or mark, at + 1
    while at < len(lines) and not lines[at].strip("\r\n"):
        at += 1
    if at >= len(lines):
        raise source.error(f"{source.name} is empty; a CSV file needs at least a header")
    rest = lines[at : at + _SNIFFED_LINES]
    delimiter = delimiter or _guess_delimiter(source.file, rest)
    names, first = _checked(source, lines, at, delimiter, skip, header=header)
    end = first[len(first.rstrip("\r\n")) :][-2:]
    end = end if end == "\r\n" else end[-1:]
    if not header:
        names = [str(i + 1) for i in range(len(names))]
    row_bytes = 1 + sum(map(len, rest)) // len(rest)
    before = len("".join(lines[:at]).encode("utf-8", "surrogateescape"))
    return CsvHead(delimiter, tuple(names), before and bom + before, at, end, row_bytes)


def _separator(line: str) -> str | None:
    line = line.rstrip("\r\n")
    return line[4] if len(line) == 5 and line[:4].lower() == "sep=" else None


def _checked(
    source: Source, lines: list[str], at: int, delimiter: str, skip: int | None, *, header: bool
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
        raise ConfigError(
            f"{source.name}: line {at + 1} has {_fields(first)}, and line {number} has "
            f"{_fields(rows[odd])}: {_shown(lines[at])} and {_shown(lines[number - 1])}; if the "
            f"table begins later, skip the lines before it, like --skip {max(odd, 1) + at}; set "
            "the separator with --delimiter",
            path=source.path,
            line=number,
        )
    if skip is None and first[0].startswith("#"):
        second = f" and line {at + 2} is {_shown(lines[at + 1])}" if at + 1 < len(lines) else ""
        kind = "header" if header else "row"
        raise ConfigError(
            f"{source.name}: line {at + 1} is {_shown(lines[at])}{second}; add --skip {at + 1} if "
            f"the first is a comment, --skip {at} if it is the {kind}",
            path=source.path,
            line=at + 1,
        )
    return first, lines[starts[1] - 2]


def _fields(row: list[str]) -> str:
    return f"{len(row)} field{'s' if len(row) != 1 else ''}"


def _shown(line: str) -> str:
    line = line.rstrip("\r\n").encode("utf-8", "backslashreplace").decode()
    return repr(line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "...")


def _guess_delimiter(path: str, lines: Sequence[str]) -> str:
    if ending_of(path) == ".tsv":
        return "\t"
    return max(_DELIMITERS, key=lambda delimiter: _score(lines, delimiter))


def _score(lines: Sequence[str], delimiter: str) -> tuple[bool, bool, int]:
    """Whether it divides all rows alike, or at least the last three, and into how many fields."""
    try:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False, False, 0
    complete = widths[:-1] or widths or [0]  # the last row may continue below these lines
    alike = min(complete) == max(complete) > 1
    last = widths[-3:]
    return alike, len(last) > 2 and min(last) == max(last) > 1, complete[0]
