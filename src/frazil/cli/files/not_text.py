"""Text that is none: bytes that are not UTF-8, told with the line and the byte where they stand.

Bytes that are not UTF-8 are read as single surrogates, so that a row whose text is only copied
stays what it was. Where a row becomes text of another format, or a text is an ID, they have no
meaning. JSON can also name such a surrogate, which is half of a character.
"""

import json
import re
from typing import Any

from frazil.cli.files.chunks import Chunk, Table
from frazil.errors import ConfigError

__all__ = ["reason", "shown", "strange", "strange_head"]

_ENDS = re.compile(r"\r\n|\r|\n")
_FIRST, _LAST = "\udc80", "\udcff"  # what stands for a byte that is not UTF-8


def shown(text: str) -> str:
    """The text with such bytes as escapes, which can be printed anywhere."""
    data = text.encode("utf-8", "surrogateescape" if _is_of_bytes(text) else "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


def reason(text: str) -> str:
    """Why a text is none, with the byte in it; "" for a text that is one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = text[error.start]
        if not _FIRST <= found <= _LAST:
            return f"\\u{ord(found):04x} is half of a character"
        at = len(text[: error.start].encode()) + 1
        return f"byte {at} is not UTF-8 (0x{ord(found) & 0xFF:02X})"
    return ""


def strange(table: Table, chunk: Chunk, rows: list[dict[str, Any]]) -> ConfigError:
    """The error for rows of which one holds a text that is none."""
    for number, text, row in zip(chunk.numbers, chunk.texts, rows, strict=False):
        for line, part in enumerate(_ENDS.split(text), number):
            if why := reason(part):
                return _error(table, line, why)
        if why := reason(json.dumps(row, ensure_ascii=False, default=str)):
            return _error(table, number, why)
    return _error(table, chunk.numbers[0], "there is text that is not UTF-8 in it or below it")


def strange_head(table: Table) -> ConfigError | None:
    """The error for columns whose names are no texts; None where they are."""
    whole = getattr(table, "header", None) or "\n".join(table.names)
    why = reason(whole)
    return _error(table, 1, why) if why else None


def _error(table: Table, line: int, why: str) -> ConfigError:
    what_to_do = "correct it"
    if "UTF-8" in why:
        what_to_do = "convert the file first, like iconv -f LATIN1 -t UTF-8"
    return ConfigError(
        f"{table.source.name}, {table.unit} {line}: {why}; {what_to_do}",
        path=table.source.path,
        line=line,
    )


def _is_of_bytes(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
