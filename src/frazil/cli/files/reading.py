"""The options of a command about its files and the new column, and its temporary files."""

import glob
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from frazil.cli.files.formats import hive_keys
from frazil.cli.files.memory import Memory
from frazil.cli.files.streams import STANDARD_INPUT, Source
from frazil.errors import ConfigError

__all__ = ["Place", "Reading", "column_exists", "printable", "temporary_in", "text_problem"]

_FIRST, _LAST = "\udc80", "\udcff"  # the surrogates that represent bytes


@dataclass(frozen=True)
class Reading:
    """How to read files: their format, and what the options say about it."""

    files: list[str]
    kind: str
    header: bool
    delimiter: str | None
    charset: str | None
    memory: Memory
    folder: Path
    """For temporary files."""
    infer: bool = False
    """Whether to infer the types of CSV columns."""
    skip: int | None = None
    """How many lines to leave out before the header of CSV."""

    def open(self, file: str) -> Source:
        """A file as bytes. Standard input is copied to a temporary file first."""
        return (
            Source(file, self.charset)
            if file != "-"
            else Source(str(self._standard_input()), self.charset, STANDARD_INPUT)
        )

    def _standard_input(self) -> Path:
        copy = self.folder / "standard-input"
        if not copy.exists():
            with temporary_in(self.folder), Source("-") as source, copy.open("wb") as target:
                shutil.copyfileobj(source.stored, target)
        return copy

    def plain(self, file: str, before: int = 0) -> str:
        """The file, or a copy that DuckDB can read, without the first ``before`` bytes.

        Raises ConfigError if it cannot be read to its end.
        """
        whole = self.charset is None and not before
        if file == "-" and whole:
            return str(self._standard_input())
        if whole and Path(file).is_file():
            with self.open(file) as source:
                if source.packing():  # DuckDB reads truncated zstd without an error
                    for _ in source.blocks():
                        pass
            if not glob.has_magic(file):
                return file
        copy = self.folder / f"input-{len(list(self.folder.iterdir()))}"
        copy = copy.joinpath(
            *(part for part in Path(file).parts[:-1] if hive_keys(f"{part}/x")), "rows"
        )
        with temporary_in(self.folder):
            copy.parent.mkdir(parents=True)
            if whole and Path(file).is_file():
                copy.symlink_to(Path(file).resolve())
                return str(copy)
            with self.open(file) as source, copy.open("wb") as target:
                for block in source.blocks():
                    target.write(block[before:])
                    before = max(before - len(block), 0)
        return str(copy)

    def lines(self, file: str) -> Iterator[tuple[int, bytes]]:
        """The lines of a text, by number."""
        with self.open(file) as source:
            rest, number = b"", 0
            for block in source.blocks():
                *whole, rest = (rest + block).split(b"\n")
                for line in whole:
                    number += 1
                    yield number, line
            if rest:
                yield number + 1, rest


@dataclass(frozen=True)
class Place:
    """The new column: its name, and whether it is the last one."""

    column: str
    last: bool


def column_exists(name: str, column: str) -> ConfigError:
    """The error for a new column with the name of an existing one."""
    return ConfigError(
        f"{name} already has a column {column!r}; name another with --column", column=column
    )


@contextmanager
def temporary_in(folder: Path) -> Iterator[None]:
    """A block that writes temporary files. Raises ConfigError if the disk is full."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(
            f"cannot write temporary files in {folder.parent}: {reason}; set TMPDIR to a "
            "folder with more space",
            path=str(folder.parent),
        ) from error


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
