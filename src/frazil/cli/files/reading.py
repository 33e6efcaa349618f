"""The options of a command about its files, and its temporary files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from frazil.cli.files.memory import Memory
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

__all__ = ["Reading", "temporary_in"]


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

    def open(self, file: str) -> Source:
        """A file as bytes."""
        return Source(file, self.charset)


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
