"""Files to read, each prepared for DuckDB in one pass.

DuckDB reads a file as it is, and more than once. So a copy takes the place of what can be read only
once (standard input, a pipe), and of text that DuckDB reads wrong: in another character set, behind
a byte order mark (it takes a quote there for a character), and behind lines that are not of the
table (its own option loses rows where they end otherwise).

Text is read to its end where DuckDB does not see an error: CSV, for its quotes and lines, and what
is compressed, because zstd that is cut off would be a shorter table.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import duckdb

from frazil.cli.files.csv_head import HEAD_BYTES, CsvHead, read_head
from frazil.cli.files.formats import hive_keys
from frazil.cli.files.options import Memory
from frazil.cli.files.streams import Source
from frazil.errors import ConfigError

_LARGE_BYTES = 128 << 20
_MARKS = re.compile(rb"\A(\xef\xbb\xbf)+")


def _counter(size_bytes: int) -> Callable[[bytes, bytes], int]:
    """Counts a byte in a block: by numpy in a large file, where that saves more than its import."""
    if size_bytes < _LARGE_BYTES:
        return bytes.count
    import numpy as np

    return lambda block, byte: int(np.count_nonzero(np.frombuffer(block, np.uint8) == byte[0]))


@dataclass(frozen=True)
class Reading:
    """How to read files: their format, and what the options say about it.

    folder: for temporary files. database: what reads text. infer: whether to infer the types of CSV
    columns. skip: how many lines to leave out before the header of CSV. hive: whether the keys of
    Hive partitions are columns.
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
    hive: bool = True
    _sources: dict[str, Source] = field(default_factory=dict, init=False)

    @property
    def typed(self) -> bool:
        """Whether the files are Parquet or Arrow."""
        return self.kind in ("parquet", "arrow")

    @property
    def keys(self) -> list[str]:
        """The keys of Hive partitions that become columns."""
        return hive_keys(*self.files) if self.hive else []

    @property
    def head(self) -> CsvHead:
        """The beginning of the first file, if it is CSV."""
        return self.source(self.files[0]).head

    @property
    def rows(self) -> int | None:
        """How many rows CSV without a quote has, if no line is blank; else None."""
        counts = [self.source(file).rows for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    def source(self, file: str) -> Source:
        """A file whose bytes can be read many times: UTF-8, if it is a text."""
        if file not in self._sources:
            self._sources[file] = self._prepared(Source(file))
        return self._sources[file]

    def _prepared(self, source: Source) -> Source:
        path = Path(source.file)
        once = source.file == "-" or (path.exists() and not path.is_file())
        if self.typed and not once:
            return source
        charset = None if self.typed else self.charset
        blocks = source.blocks(charset)
        start = next(blocks, b"")
        marks = None if self.typed else _MARKS.match(start)
        before = marks.end() if marks else 0
        if self.kind == "csv":
            while len(start) < HEAD_BYTES and (block := next(blocks, b"")):
                start += block
            head = read_head(
                source.file, start[before:], self.delimiter, self.skip, header=self.header
            )
            source = replace(source, head=head)
            before += head.before
        end, last = source.head.end[-1:].encode() or b"\n", b""
        quotes = lines = 0
        count = _counter(0 if once else path.stat().st_size)

        def table() -> Iterator[bytes]:
            nonlocal quotes, lines, last
            for last in chain([start[before:]], blocks):
                if self.kind == "csv":
                    quotes += count(last, b'"')
                    lines += count(last, end)
                yield last

        if once or charset or before:
            source = replace(source, copy=self._copy(source.file, table()))
        elif self.kind == "csv" or source.packing():
            for _ in table():
                pass
        rows = None if quotes else lines + (not last.endswith(end)) - self.header
        return replace(source, quotes=quotes, rows=rows) if self.kind == "csv" else source

    def _copy(self, file: str, blocks: Iterable[bytes]) -> Path:
        """Write a temporary file. Raises ConfigError if the disk is full."""
        keys = [part for part in Path(file).parts[:-1] if hive_keys(f"{part}/x")]
        copy = self.folder.joinpath(f"input-{len(self._sources)}", *keys, "rows")
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("wb") as target:
                target.writelines(blocks)
        except OSError as error:
            problem = f"cannot write temporary files in {self.folder.parent}"
            raise ConfigError(
                f"{problem}: {error.strerror or error}; set TMPDIR to a folder with more space",
                path=str(self.folder.parent),
            ) from error
        return copy
