"""Bytes that are not UTF-8: the file, the line and the byte, and the option that helps.

A copy in the same format keeps such bytes. Another format has to know the characters, and the
libraries that read the text say only that something is wrong, so the file is read again.
"""

from frazil.cli.files.rows import split_lines
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["invalid_utf8_error", "printable", "text_problem"]

_FIRST, _LAST = "\udc80", "\udcff"  # the surrogates that represent bytes


def printable(text: str) -> str:
    """The text with lone surrogates as escapes."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")


def invalid_utf8_error(source: Source, name: str) -> ConfigError | None:
    """The error for the first byte that is not UTF-8; None if all are.

    source: the file, opened again. name: the file in the error.
    """
    for rows in split_lines(source, source.blocks()):
        try:
            rows.data.decode()
        except UnicodeDecodeError as error:
            row = int(rows.ends.searchsorted(error.start, side="right"))
            line, byte = rows.first_line + row, error.start - int(rows.starts[row]) + 1
            return ConfigError(
                f"{name}, line {line}: byte {byte} is not UTF-8 (0x{rows.data[error.start]:02X}); "
                "name the character set, like --charset latin-1",
                path=source.path,
                line=line,
            )
    return None


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
