"""The options of a command about its files: their format, the memory, temporary files.

Python, numpy, pyarrow and DuckDB need some 250 MB before the first row, with the batches that are
under way. DuckDB gets what remains of the memory; it writes to temporary files what does not fit.
So the bound is one for the whole process, and it has a least value.
"""

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from frazil.cli.files.csv_head import CsvHead, read_head
from frazil.cli.files.formats import hive_keys
from frazil.cli.files.streams import Source, copy_of_input
from frazil.errors import ConfigError

_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}
_LEAST_BYTES = 512 << 20
_OWN_BYTES = 320 << 20
_AUDIT_BYTES = 256 << 20
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 122_880  # a row group of DuckDB


@dataclass(frozen=True)
class Memory:
    """The bound of the process, in bytes."""

    size_bytes: int

    @property
    def database_bytes(self) -> int:
        """The bound of DuckDB."""
        return self.size_bytes - _OWN_BYTES

    @property
    def search_bytes(self) -> int:
        """The bound of DuckDB where it is alone."""
        return self.size_bytes - _AUDIT_BYTES

    @property
    def buffer_bytes(self) -> int:
        """How much of a text file DuckDB reads in one block; a row of CSV has at most a half."""
        return 16 << 20 if self.size_bytes >= 1 << 30 else 8 << 20

    def rows_for(self, size_bytes: int, rows: int) -> int:
        """Rows of a batch, in a table of ``rows`` rows and ``size_bytes`` bytes."""
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size_bytes, 1)))


def _memory(ctx: click.Context, param: click.Parameter, value: str) -> Memory:
    match = re.fullmatch(r"([0-9]{1,9}) ?(MiB|GiB)", value)
    size_bytes = int(match[1]) * _UNITS[match[2]] if match else 0
    if size_bytes < _LEAST_BYTES:
        raise click.BadParameter(f"{value!r}; write 512MiB or more, like 4GiB", ctx, param)
    return Memory(size_bytes)


memory_option = click.option(
    "--memory",
    callback=_memory,
    default="1GiB",
    metavar="SIZE",
    show_default=True,
    help="The most memory to use; the rest is written to temporary files.",
)


@dataclass(frozen=True)
class Reading:
    """How to read files: their format, and what the options say about it.

    folder: for temporary files. infer: whether to infer the types of CSV columns. skip: how many
    lines to leave out before the header of CSV.
    """

    files: list[str]
    kind: str
    header: bool
    delimiter: str | None
    charset: str | None
    memory: Memory
    folder: Path
    infer: bool = False
    skip: int | None = None
    _plain: dict[str, tuple[str, str]] = field(default_factory=dict, init=False)

    def source(self, file: str) -> Source:
        """A file as bytes. Standard input is copied to a temporary file first."""
        if file != "-":
            return Source(file, self.charset)
        copy = self.folder / "standard-input"
        if not copy.exists():
            with self._temporary():
                copy_of_input(copy)
        return Source(str(copy), self.charset, "-")

    def head(self, file: str) -> CsvHead:
        """The beginning of a CSV file. Raises ConfigError if it is not a table, or unclear."""
        return read_head(
            self.source(file), header=self.header, delimiter=self.delimiter, skip=self.skip
        )

    def plain(self, file: str, before: int = 0) -> tuple[str, str]:
        """The file, or a copy that DuckDB can read: a pattern of names, and its compression.

        before: the bytes to leave out at the beginning.
        Raises ConfigError if it cannot be read to its end.
        """
        if file not in self._plain:
            self._plain[file] = self._checked(file, before)
        return self._plain[file]

    def _checked(self, file: str, before: int) -> tuple[str, str]:
        source = self.source(file)
        if self.charset is None and not before and Path(source.path).is_file():
            packing = source.packing()
            if packing:  # DuckDB reads truncated zstd without an error
                for _ in source.blocks():
                    pass
            return glob.escape(source.path), packing or "none"
        keys = [part for part in Path(file).parts[:-1] if hive_keys(f"{part}/x")]
        copy = self.folder.joinpath(f"input-{len(list(self.folder.iterdir()))}", *keys, "rows")
        with self._temporary():
            copy.parent.mkdir(parents=True)
            with copy.open("wb") as target:
                for block in source.blocks():
                    target.write(block[before:])
                    before = max(before - len(block), 0)
        return glob.escape(str(copy)), "none"

    @contextmanager
    def _temporary(self) -> Iterator[None]:
        """A block that writes temporary files. Raises ConfigError if the disk is full."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(
                f"cannot write temporary files in {self.folder.parent}: {reason}; set TMPDIR to a "
                "folder with more space",
                path=str(self.folder.parent),
            ) from error


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
