"""Files to read, each prepared for DuckDB in one pass.

A copy takes the place of what can be read only once (standard input, a pipe), and of text that
DuckDB reads wrong: in another character set, and behind a byte order mark or lines that are not of
the table. Text is read to its end where DuckDB does not see an error: CSV, for its quotes and
lines, and what is compressed, which its first bytes tell.

What DuckDB would guess about the beginning of CSV is settled here: a wrong guess is a table of
other values, without an error. So the first lines must have equally many fields, and a first one
with ``#`` needs ``--skip``. A line ``sep=;`` (Excel's) and blank lines are left out.
"""

import codecs
import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import duckdb

from frazil.cli.files.paths import Memory, ending_of, hive_keys, shown
from frazil.errors import ConfigError, brief

_BLOCK_BYTES = 256 << 10  # a larger one is new memory each time, which costs more than its copy
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 4 << 20  # the most that a header and the lines before it may have
_DELIMITERS = ",\t;|"
_MARK = "\ufeff"
_SNIFFED_LINES = 50
_FIELD_BYTES = 16  # of Arrow, beside its text
_FIELD_BYTES_MAX = 1 << 30
_LARGE_BYTES = 512 << 20
_MARKS = re.compile(rb"\A(\xef\xbb\xbf)+")


class CsvHead(NamedTuple):
    """What a CSV file begins with.

    before: the bytes before the table, ``lines`` how many lines they are. end: how a line ends, if
    there is a second one. row_bytes: about how many a row has.
    """

    delimiter: str = ","
    names: tuple[str, ...] = ()
    before: int = 0
    lines: int = 0
    end: str = ""
    row_bytes: int = 1 << 10


_NO_HEAD = CsvHead()


@dataclass(frozen=True)
class Source:
    """A file to read, or ``-``. Its methods raise ConfigError if it cannot be read.

    file: as a user named it. copy: what is read in its place, without the lines before the header
    of CSV. quotes: how many CSV has. rows: how many rows CSV without a quote has, if no line is
    blank.
    """

    file: str
    copy: Path | None = None
    head: CsvHead = _NO_HEAD
    quotes: int = 0
    rows: int | None = None

    @property
    def path(self) -> str:
        """Where it is."""
        return str(self.copy or self.file)

    def packing(self) -> str | None:
        """The compression of the file: ``gzip``, ``zstd``, or None."""
        with self._opened() as stored:
            return _packing(stored)

    def blocks(self, charset: str | None = None) -> Iterator[bytes]:
        """The bytes, decompressed, as UTF-8 if a character set is given."""
        with self._opened() as stored:
            try:
                plain: Any = stored
                if packing := _packing(stored):
                    import pyarrow as pa

                    plain = pa.CompressedInputStream(pa.PythonFile(stored, "r"), packing)
                blocks = iter(partial(plain.read, _BLOCK_BYTES), b"")
                if charset is not None:
                    blocks = codecs.iterencode(codecs.iterdecode(blocks, charset), "utf-8")
                for i, block in enumerate(blocks):
                    if not i and block[:2] in _UTF16:
                        raise self.error(f"{shown(self.file)} is UTF-16; add --charset utf-16")
                    yield block
            except UnicodeError as error:
                problem = f"is not {error.args[0]} text ({error.args[-1]}); name another with"
                raise self.error(f"{shown(self.file)} {problem} --charset") from None
            except OSError as error:
                raise self.error(f"cannot read {shown(self.file)} to its end: {error}") from None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines of a text, by number."""
        rest, number, end = b"", self.head.lines, self.head.end[-1:].encode() or b"\n"
        for block in self.blocks():
            *whole, rest = (rest + block).split(end)
            for line in whole:
                number += 1
                yield number, line
        if rest:
            yield number + 1, rest

    def error(self, problem: str) -> ConfigError:
        """The error for the file."""
        return ConfigError(problem, path=self.file)

    def _opened(self) -> IO[bytes]:
        try:
            if self.path != "-":
                return Path(self.path).open("rb")
            # Without Python's buffer, whose lock a waiting thread would keep at the end.
            return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
        except io.UnsupportedOperation:  # a test or a calling program replaced it
            return io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
        except OSError as error:
            problem = f"cannot read {shown(self.file)}: {error.strerror}; name a file that you may"
            raise self.error(f"{problem} read, or - for standard input") from None


def _packing(stored: Any) -> str | None:
    start = stored.peek(4)[:4]
    return "gzip" if start[:2] == _GZIP else "zstd" if start == _ZSTD else None


def _counter(size_bytes: int) -> Callable[[bytes, bytes], int]:
    """Counts a byte in a block: by numpy, if that saves more than an import would take."""
    if size_bytes < _LARGE_BYTES and "numpy" not in sys.modules:
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
            while len(start) < _HEAD_BYTES and (block := next(blocks, b"")):
                start += block
            head = _read_head(
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
                    lines += 0 if quotes else count(last, end)  # only for ``rows``
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


# --- the beginning of CSV


def _read_head(
    file: str, data: bytes, delimiter: str | None, skip: int | None, *, header: bool
) -> CsvHead:
    """The head of a file that begins with ``data``. Raises ConfigError if it is empty or unclear.

    delimiter, skip, header: the options of those names.
    """
    text = data.decode("utf-8", "surrogateescape")
    at = skip or 0
    lines = list(islice(io.StringIO(text, newline=""), at + 2 * _SNIFFED_LINES))
    if at < len(lines) and (mark := re.fullmatch(r"(?i)sep=(.)[\r\n]*", lines[at])):
        delimiter, at = delimiter or mark[1], at + 1
    while at < len(lines) and not lines[at].strip("\r\n"):
        at += 1
    if at >= len(lines):
        problem = f"{shown(file)} is empty; a CSV file needs at least a header"
        raise ConfigError(problem, path=file)
    plain = lines[at].lstrip(_MARK)  # DuckDB would drop marks from the first value
    before = "".join(lines[:at]) + _MARK * (len(lines[at]) - len(plain))
    lines[at] = plain
    rest = lines[at : at + _SNIFFED_LINES]
    if delimiter is None:
        delimiter = "\t" if ending_of(file) == ".tsv" else _likely_delimiter(rest)
    begin, rows = zip(*records(file, rest, delimiter, at), strict=True)
    names, problem = rows[0], ""
    begins = brief(lines[at].rstrip("\r\n"))
    whole = rows if at + _SNIFFED_LINES >= len(lines) else rows[:-1]
    odd = next((i for i, row in enumerate(whole) if row and len(row) != len(names)), 0)
    if odd:
        fields = [f"{n} field{'s' * (n != 1)}" for n in (len(names), len(rows[odd]))]
        problem = (
            f"has {fields[0]}, and line {begin[odd]} has {fields[1]}: {begins} and "
            f"{brief(lines[begin[odd] - 1].rstrip())}; if the table begins later, skip the lines "
            f"before it, like --skip {odd + at}; set the separator with --delimiter"
        )
    elif skip is None and names[0].startswith("#"):
        what = f"--skip {at} if it is the {'header' if header else 'row'}"
        problem = f"is {begins}; add --skip {at + 1} if it is a comment, {what}"
    if problem:
        problem = f"{shown(file)}: line {at + 1} {problem}"
        raise ConfigError(problem, path=file, line=begin[odd])
    last = lines[begin[1] - 2] if len(begin) > 1 else rest[-1]
    return CsvHead(
        delimiter,
        tuple(names) if header else tuple(str(i + 1) for i in range(len(names))),
        len(before.encode("utf-8", "surrogateescape")),
        at,
        last[len(last.rstrip("\r\n")) :],
        1 + sum(map(len, rest)) // len(rest) + _FIELD_BYTES * len(names),
    )


def records(
    file: str, lines: Iterable[str], delimiter: str, before: int, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Rows of CSV, each with the line on which it begins; the file has ``before`` other lines.

    strict: whether wrong quotes are an error. Raises ConfigError where the lines are not CSV.
    """
    begins = before + 1
    csv.field_size_limit(_FIELD_BYTES_MAX)
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    try:
        for row in reader:
            yield begins, row
            begins = before + reader.line_num + 1
    except csv.Error as error:
        problem = f"{shown(file)}, line {begins}: not CSV: {error}"
        raise ConfigError(problem, path=file, line=begins) from None


def _likely_delimiter(lines: Sequence[str]) -> str:
    """The one that divides all rows alike, or at least the last three, into the most fields."""

    def score(delimiter: str) -> tuple[bool, bool, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            return False, False, 0
        complete = widths[:-1] or widths or [0]  # the last row may continue below these lines
        alike = min(complete) == max(complete) > 1
        return alike, len(widths) > 2 and min(widths[-3:]) == max(widths[-3:]) > 1, complete[0]

    return max(_DELIMITERS, key=score)
