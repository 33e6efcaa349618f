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
from itertools import islice
from typing import NamedTuple

from frazil.cli.files.formats import ending_of, shown
from frazil.errors import ConfigError, brief

HEAD_BYTES = 4 << 20
"""The most that a header and the lines before it may have."""
_DELIMITERS = ",\t;|"
_MARK = "\ufeff"
_SNIFFED_LINES = 50
_FIELD_BYTES = 16  # of Arrow, beside its text


class CsvHead(NamedTuple):
    """What a CSV file begins with.

    before: the bytes before the table, ``lines`` how many lines they are. end: how a line ends, if
    there is a second one. row_bytes: about how many a row has.
    """

    delimiter: str = ","
    names: tuple[str, ...] = ()
    before: int = 0
    lines: int = 0
    end: str = ""
    row_bytes: int = 1 << 10


def read_head(
    file: str, data: bytes, delimiter: str | None, skip: int | None, *, header: bool
) -> CsvHead:
    """The head of a file that begins with ``data``. Raises ConfigError if it is empty or unclear.

    delimiter, skip, header: the options of those names.
    """
    text = data.decode("utf-8", "surrogateescape")
    at = skip or 0
    lines = list(islice(io.StringIO(text, newline=""), at + 2 * _SNIFFED_LINES))
    if at < len(lines) and (mark := re.fullmatch(r"(?i)sep=(.)[\r\n]*", lines[at])):
        delimiter, at = delimiter or mark[1], at + 1
    while at < len(lines) and not lines[at].strip("\r\n"):
        at += 1
    if at >= len(lines):
        problem = f"{shown(file)} is empty; a CSV file needs at least a header"
        raise ConfigError(problem, path=file)
    plain = lines[at].lstrip(_MARK)  # DuckDB would drop marks from the first value
    before = "".join(lines[:at]) + _MARK * (len(lines[at]) - len(plain))
    lines[at] = plain
    rest = lines[at : at + _SNIFFED_LINES]
    if delimiter is None:
        delimiter = "\t" if ending_of(file) == ".tsv" else _likely_delimiter(rest)
    rows, starts = _parsed(file, rest, at, delimiter)
    names, problem = rows[0], ""
    begins = brief(lines[at].rstrip("\r\n"))
    whole = rows if at + _SNIFFED_LINES >= len(lines) else rows[:-1]
    odd = next((i for i, row in enumerate(whole) if row and len(row) != len(names)), 0)
    if odd:
        fields = [f"{n} field{'s' * (n != 1)}" for n in (len(names), len(rows[odd]))]
        problem = (
            f"has {fields[0]}, and line {starts[odd] + 1} has {fields[1]}: {begins} and "
            f"{brief(lines[starts[odd]].rstrip())}; if the table begins later, skip the lines "
            f"before it, like --skip {odd + at}; set the separator with --delimiter"
        )
    elif skip is None and names[0].startswith("#"):
        what = f"--skip {at} if it is the {'header' if header else 'row'}"
        problem = f"is {begins}; add --skip {at + 1} if it is a comment, {what}"
    if problem:
        problem = f"{shown(file)}: line {at + 1} {problem}"
        raise ConfigError(problem, path=file, line=starts[odd] + 1)
    last = lines[starts[1] - 1]
    return CsvHead(
        delimiter,
        tuple(names) if header else tuple(str(i + 1) for i in range(len(names))),
        len(before.encode("utf-8", "surrogateescape")),
        at,
        last[len(last.rstrip("\r\n")) :],
        1 + sum(map(len, rest)) // len(rest) + _FIELD_BYTES * len(names),
    )


def _parsed(
    file: str, lines: Sequence[str], at: int, delimiter: str
) -> tuple[list[list[str]], list[int]]:
    """Rows, and how many lines of the file are before each; ``at`` are before the first one."""
    rows, starts = [], [at]
    csv.field_size_limit(HEAD_BYTES)
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            rows.append(row)
            starts.append(at + reader.line_num)
    except csv.Error as error:
        number = starts[-1] + 1
        problem = f"{shown(file)}, line {number}: not CSV: {error}"
        raise ConfigError(problem, path=file, line=number) from None
    return rows, starts


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
