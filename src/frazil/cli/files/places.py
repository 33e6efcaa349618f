"""Where something is in a text file: the line of a row, or of what DuckDB cannot read.

DuckDB counts rows and not lines, says little about bytes that are not text, and names the wrong
line of JSON. So a file with a fault is read once more, by Python.
"""

import csv
import json
from collections.abc import Iterator

from frazil.cli.files.csv_head import read_head
from frazil.cli.files.reading import Reading, text_problem
from frazil.errors import ConfigError

__all__ = ["fault", "lines_of"]

_DECODE = json.JSONDecoder().decode  # json.loads without its checks
_FIELD_BYTES = 1 << 30
_CHARSET = "; name the character set, like --charset latin-1"


def lines_of(reading: Reading, file: str, rows: set[int]) -> dict[int, int]:
    """On which line each of some rows begins; rows count from 1, without header and blank ones."""
    found: dict[int, int] = {}
    count = 0
    if reading.kind != "csv":
        for number, line in reading.lines(file):
            count += bool(line.strip())
            if count in rows:
                found.setdefault(count, number)
        return found
    for number, row in _records(reading, file):
        count += bool(row)
        if count in rows:
            found.setdefault(count, number)
            if len(found) == len(rows):
                break
    return found


def fault(reading: Reading, *, ends: bool = False) -> ConfigError | None:
    """The error for the first row that is not text, no JSON object, or not a row of its table.

    ends: whether lines must have equal ends.
    """
    for file in reading.files:
        problems = _invalid(reading, file, ends=ends)
        for number, problem in problems:
            return _at(reading, file, number, problem)
        if reading.kind == "csv":
            for number, problem in _odd_rows(reading, file):
                return _at(reading, file, number, problem)
    return None


def _at(reading: Reading, file: str, number: int, problem: str) -> ConfigError:
    with reading.open(file) as source:
        return source.error_at(number, problem)


def _records(
    reading: Reading, file: str, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The rows of CSV behind the header, each with the line on which it begins."""
    with reading.open(file) as source:
        head = read_head(
            source, header=reading.header, delimiter=reading.delimiter, skip=reading.skip
        )
    lines = reading.lines(file)
    texts = (
        line.decode("utf-8", "surrogateescape") + "\n"
        for number, line in lines
        if number > head.lines
    )
    csv.field_size_limit(_FIELD_BYTES)
    reader = csv.reader(texts, delimiter=head.delimiter, strict=strict)
    begins, header = head.lines + 1, reading.header
    try:
        for row in reader:
            if not (header and row):
                yield begins, row
            header = header and not row
            begins = head.lines + reader.line_num + 1
    except csv.Error as error:
        if strict:
            yield begins, [f"not CSV ({error})"] * (len(head.names) + 1)


def _odd_rows(reading: Reading, file: str) -> Iterator[tuple[int, str]]:
    """The rows that have not as many fields as the header, or whose quotes are wrong."""
    with reading.open(file) as source:
        head = read_head(
            source, header=reading.header, delimiter=reading.delimiter, skip=reading.skip
        )
    width = len(head.names)
    for number, row in _records(reading, file, strict=True):
        if row and len(row) != width:
            what = f"the row has {len(row)} fields instead of {width}"
            yield number, row[0] if row[0].startswith("not CSV (") else what


def _invalid(reading: Reading, file: str, *, ends: bool) -> Iterator[tuple[int, str]]:
    """The lines that are not UTF-8, end in another way than the first, or are not a JSON object."""
    first = None
    for number, line in reading.lines(file):
        text = line.decode("utf-8", "surrogateescape")
        if problem := text_problem(text):
            yield number, problem + ("; correct it" if "half" in problem else _CHARSET)
        elif reading.kind == "jsonl":
            if problem := _json_problem(text):
                yield number, problem
        elif ends and line.endswith(b"\r") != (
            first := line.endswith(b"\r") if first is None else first
        ):
            yield number, "it has another line end than the first; make them equal, with dos2unix"


def _json_problem(text: str) -> str:
    if not text.strip():
        return ""
    try:
        record = _DECODE(text)
    except (ValueError, RecursionError) as error:
        return f"not a JSON object ({error}); JSON Lines has one per line"
    if type(record) is not dict:
        kind = type(record).__name__
        return f"not a JSON object (it is a {kind}); JSON Lines has one per line"
    problem = text_problem(json.dumps(record, ensure_ascii=False))
    return problem and f"{problem}; correct it"
