"""Files to read: their format, what the options say about it, and what DuckDB can read of them."""

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from frazil.cli.files.csv_head import CsvHead, read_head
from frazil.cli.files.formats import hive_keys
from frazil.cli.files.options import Memory
from frazil.cli.files.streams import Source, copy_of_input
from frazil.errors import ConfigError


@dataclass(frozen=True)
class Reading:
    """How to read files: their format, and what the options say about it.

    folder: for temporary files. infer: whether to infer the types of CSV columns. skip: how many
    lines to leave out before the header of CSV.
    """

    files: list[str]
    kind: str
    folder: Path
    memory: Memory
    header: bool = True
    delimiter: str | None = None
    charset: str | None = None
    skip: int | None = None
    infer: bool = False
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
