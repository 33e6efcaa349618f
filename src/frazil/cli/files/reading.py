"""Files to read, and copies of those that DuckDB cannot read as they are."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from frazil.cli.files.formats import hive_keys
from frazil.cli.files.options import Memory
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

_MARKS = re.compile(rb"\A(\xef\xbb\xbf)+")


@dataclass(frozen=True)
class Reading:
    """How to read files: their format, and what the options say about it.

    folder: for temporary files. database: what reads text. infer: whether to infer the types of CSV
    columns. skip: how many lines to leave out before the header of CSV.
    """

    files: list[str]
    kind: str
    folder: Path
    database: duckdb.DuckDBPyConnection
    memory: Memory
    header: bool = True
    delimiter: str | None = None
    charset: str | None = None
    skip: int | None = None
    infer: bool = False
    _sources: dict[tuple[str, int], Source] = field(default_factory=dict, init=False)

    def source(self, file: str, before: int = 0) -> Source:
        """A file whose bytes can be read many times: UTF-8, if it is a text.

        Standard input, a pipe, and a text of another character set is copied first, and so are the
        bytes behind the first ``before``, and behind a byte order mark: where a quote follows it,
        DuckDB takes the quote for a character.
        """
        if (file, before) not in self._sources:
            source = self.source(file) if before else Source(file)
            text = self.kind not in ("parquet", "arrow")
            charset = self.charset if text and not before else None
            once = file == "-" or (Path(file).exists() and not Path(file).is_file())
            if before or charset or once or (text and _MARKS.match(next(source.blocks(), b""))):
                source = Source(file, self._copy(file, source.blocks(charset), before))
            elif source.packing():  # DuckDB reads truncated zstd without an error
                for _ in source.blocks():
                    pass
            self._sources[file, before] = source
        return self._sources[file, before]

    def _copy(self, file: str, blocks: Iterable[bytes], before: int) -> Path:
        """Write a temporary file. Raises ConfigError if the disk is full."""
        keys = [part for part in Path(file).parts[:-1] if hive_keys(f"{part}/x")]
        copy = self.folder.joinpath(f"input-{len(self._sources)}", *keys, "rows")
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("wb") as target:
                for i, block in enumerate(blocks):
                    rest = _MARKS.sub(b"", block) if not i else block
                    target.write(rest[before:])
                    before = max(before - len(rest), 0)
        except OSError as error:
            problem = f"cannot write temporary files in {self.folder.parent}"
            raise ConfigError(
                f"{problem}: {error.strerror or error}; set TMPDIR to a folder with more space",
                path=str(self.folder.parent),
            ) from error
        return copy
