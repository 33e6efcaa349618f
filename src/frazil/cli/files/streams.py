"""Input and output files of any size, compressed or not, never half written.

An output is written under a temporary name in the same folder, synced, and renamed at the end. An
existing file does not change until then, and is replaced only with ``--force``.

A compressed input is recognised by its first bytes, a compressed output by its name. Text is read
as UTF-8, of any character set.
"""

import codecs
import gzip
import io
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from frazil.cli._signals import on_stop
from frazil.cli.files.csv_head import CsvHead
from frazil.cli.files.formats import packing_of, shown
from frazil.errors import ConfigError

_BLOCK_BYTES = 256 << 10  # a larger one is new memory each time, which costs more than its copy
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
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


class Output(io.BufferedIOBase):
    """A file whose ``write`` writes everything, which an unbuffered one need not.

    It counts the bytes: Parquet needs ``tell``, and a pipe has none. ``close`` leaves the file open
    to its owner, and drops what a writer still writes when it is deleted after an error.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = 0

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest and not self.closed:
            rest = rest[self._file.write(rest) :]
        self._size += size
        return size

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size


@contextmanager
def open_output(path: str, sources: list[str], *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, or ``-`` for standard output, that appears complete or not at all.

    Raises ConfigError if the file exists and ``force`` is false, if it is a source, or if it
    cannot be written.
    """
    if path == "-":
        with on_stop(lambda: "the output is incomplete"):
            sys.stdout.flush()
            # Without Python's buffer, which would keep the end of a row at a signal.
            raw = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
            yield cast("IO[bytes]", Output(raw))
        return
    real = Path(os.path.realpath(path))
    _check_output(path, real, sources, force=force)
    device = real.exists() and not real.is_file()  # a device or a pipe is not renamed
    left = "is incomplete" if device else f"was not {'changed' if real.exists() else 'created'}"
    try:
        with (
            on_stop(lambda: f"{path} {left}"),
            real.open("wb", buffering=0) if device else _replacing(real, path, force=force) as file,
        ):
            yield cast("IO[bytes]", Output(file)) if device else file
    except OSError as error:
        problem = f"cannot write {path}: {error.strerror or error}; the output was not created"
        raise ConfigError(problem, path=path) from error


@contextmanager
def _replacing(real: Path, path: str, *, force: bool) -> Iterator[IO[bytes]]:
    part = real.with_name(f".frazil-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb", buffering=0) as stored:
            with _packed(Output(stored), packing_of(path)) as file:
                yield file
            os.fsync(stored.fileno())
        _check_output(path, real, [], force=force)  # it may have appeared meanwhile
        if real.exists():
            shutil.copymode(real, part)
        part.replace(real)
    finally:
        part.unlink(missing_ok=True)


def _packed(stored: Output, packing: str | None) -> Any:
    if packing == "gzip":
        return gzip.GzipFile("", "wb", 6, cast("IO[bytes]", stored))
    if packing == "zstd":
        import pyarrow as pa

        return pa.CompressedOutputStream(pa.PythonFile(stored, "w"), "zstd")
    return stored


def _check_output(path: str, real: Path, sources: list[str], *, force: bool) -> None:
    problem = ""
    if real.is_dir():
        problem = "is a folder; name a file in it"
    elif real.exists() and any(each != "-" and real.samefile(each) for each in sources):
        problem = "is also the input; write to another file, then rename it"
    elif real.is_file() and not force:
        problem = "exists; name another file, or add --force"
    if problem:
        raise ConfigError(f"{path} {problem}", path=path)
