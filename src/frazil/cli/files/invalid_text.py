"""Invalid text: bytes that are not UTF-8, reported with their line and position.

Bytes that are not UTF-8 are read as lone surrogates, so that a copied row does not change. They are
an error in an ID and in a row that is converted to another format. JSON can also contain a lone
surrogate, as an escape.
"""

import json
import re
from typing import Any

from frazil.cli.files.chunks import Chunk, Table
from frazil.errors import ConfigError

__all__ = ["invalid_header_error", "invalid_text_error", "printable", "text_problem"]

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_FIRST, _LAST = "\udc80", "\udcff"  # the surrogates that represent bytes


def printable(text: str) -> str:
    """The text with lone surrogates as escapes."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


def text_problem(text: str) -> str:
    """The first byte or surrogate that makes a text invalid, as a message; "" for a valid text."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start]
        if not _FIRST <= found <= _LAST:
            return f"\\u{ord(found):04x} is half of a character"
        number = len(text[: error.start].encode()) + 1
        return f"byte {number} is not UTF-8 (0x{ord(found) & 0xFF:02X})"
    return ""


def invalid_text_error(table: Table, chunk: Chunk, rows: list[dict[str, Any]]) -> ConfigError:
    """The error for rows with an invalid text, with its line."""
    for number, text, row in zip(chunk.numbers, chunk.texts, rows, strict=False):
        for line, part in enumerate(_LINE_ENDS.split(text), number):
            if problem := text_problem(part):
                return _error(table, line, problem)
        if problem := text_problem(json.dumps(row, ensure_ascii=False, default=str)):
            return _error(table, number, problem)
    return _error(table, chunk.numbers[0], "this row or a later one has text that is not UTF-8")


def invalid_header_error(table: Table) -> ConfigError | None:
    """The error for a column name that is invalid text; None if all are valid."""
    problem = text_problem(getattr(table, "header", None) or "\n".join(table.names))
    return _error(table, 1, problem) if problem else None


def _error(table: Table, line: int, problem: str) -> ConfigError:
    next_step = "correct it"
    if "UTF-8" in problem:
        next_step = "convert the file first, like iconv -f LATIN1 -t UTF-8"
    return table.source.error_at(line, f"{problem}; {next_step}", table.unit)
