"""Input and output files of any size, compressed or not, never half written.

A tool that opens its output and then fails leaves a file that looks complete. So an output is
written under a temporary name in the same folder, synced, and renamed at the end. An existing file
does not change until then, and is replaced only with ``--force``. The input is read forward in
blocks of bytes, so it can be a pipe, and it reports its position for the progress bar.

``-`` is standard input or output. A compressed input is recognised by its first bytes, a compressed
output by its name. Text is UTF-8, or of the given character set; it is read as UTF-8.
"""

import codecs
import errno
import gzip
import io
import os
import secrets
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from frazil.cli._signals import on_stop
from frazil.cli.files.formats import packing_of
from frazil.errors import ConfigError

__all__ = ["STANDARD_INPUT", "Source", "open_output"]

STANDARD_INPUT = "standard input"
"""The name of - in errors."""

_BLOCK_BYTES = 4 << 20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_HINTS = {
    errno.EACCES: "; get permission to read it, or name another file",
    errno.EISDIR: "; name a file inside it",
    errno.ENOENT: "; name a file, or - for standard input",
}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Source(AbstractContextManager["Source"]):
    """A file to read, or ``-`` for standard input. Raises ConfigError if it cannot be read.

    charset: the character set of a text, as Python names it; None for UTF-8. name: its name in
    errors, if that is not the path.
    """

    def __init__(self, path: str, charset: str | None = None, name: str = "") -> None:
        self.path = path
        self.name = name or (STANDARD_INPUT if path == "-" else path)
        self._decoder = None if charset is None else codecs.getincrementaldecoder(charset)()
        self.stored: io.BufferedReader
        self.size: int | None = None
        """Bytes in the file as stored; None if unknown."""
        if path == "-":
            self.stored = io.BufferedReader(_standard_input(), _BLOCK_BYTES)
            return
        try:
            self.stored = Path(path).open("rb")  # noqa: SIM115 (__exit__ closes it)
            status = os.fstat(self.stored.fileno())
        except OSError as error:
            hint = _HINTS.get(error.errno or 0, "")
            raise ConfigError(f"cannot read {path}: {error.strerror}{hint}", path=path) from None
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size

    def bytes_read(self) -> int:
        """Bytes read so far, of ``size``; 0 if the size is unknown or the file is closed.

        The thread that reads may close the file at any moment, also during ``tell``.
        """
        try:
            return 0 if self.size is None else self.stored.tell()
        except (OSError, ValueError):
            return 0

    def packing(self) -> str | None:
        """The compression of the file: ``gzip``, ``zstd``, or None."""
        start = self.stored.peek(4)[:4]
        return "gzip" if start[:2] == _GZIP else "zstd" if start == _ZSTD else None

    def blocks(self) -> Iterator[bytes]:
        """The bytes, decompressed, as UTF-8 if a character set is given. None is empty."""
        try:
            data = _unpacked(self.stored, self.packing())
            block = data.read(_BLOCK_BYTES)
            if self._decoder is None and block[:2] in _UTF16:
                raise ConfigError(f"{self.name} is UTF-16; add --charset utf-16", path=self.path)
            while block:
                yield block if self._decoder is None else self._decoder.decode(block).encode()
                block = data.read(_BLOCK_BYTES)
            if self._decoder is not None:
                yield self._decoder.decode(b"", final=True).encode()
        except UnicodeError as error:
            raise ConfigError(
                f"{self.name} is not {error.args[0]} text ({error.args[-1]}); name another with "
                "--charset",
                path=self.path,
            ) from None
        except (EOFError, zlib.error, OSError) as error:
            raise ConfigError(
                f"cannot read {self.name} to its end: {error}", path=self.path
            ) from None

    def error_at(self, number: int, problem: str, unit: str = "line") -> ConfigError:
        """The error for a line or row."""
        return ConfigError(f"{self.name}, {unit} {number}: {problem}", path=self.path, line=number)

    def __exit__(self, *_: object) -> None:
        """Close the file; standard input stays open."""
        if self.path == "-":
            self.stored.detach()
        else:
            self.stored.close()


def _standard_input() -> io.RawIOBase:
    """Standard input without Python's buffer, whose lock a waiting thread would keep at the end."""
    try:
        return io.FileIO(sys.stdin.fileno(), closefd=False)
    except (OSError, ValueError):  # not a file: a test or a calling program replaced it
        return cast("io.RawIOBase", sys.stdin.buffer)


def _unpacked(stored: io.BufferedReader, packing: str | None) -> Any:
    if packing == "gzip":
        return gzip.GzipFile(fileobj=stored)
    if packing == "zstd":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(stored, "r"), "zstd")
    return stored


@contextmanager
def open_output(path: str, sources: list[str], *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, or ``-`` for standard output, that appears complete or not at all.

    Raises ConfigError if the file exists and ``force`` is false, if it is a source, or if it
    cannot be written.
    """
    if path == "-":
        with _incomplete("the output"):
            yield _standard_output()
        return
    real = Path(os.path.realpath(path))
    _check_output(path, real, sources, force=force)
    try:
        if real.exists() and not real.is_file():  # a device or a pipe is not renamed
            with _incomplete(path), real.open("wb", buffering=0) as stored:
                yield cast("IO[bytes]", _Whole(stored))
            return
        with (
            on_stop(lambda: f"{path} was not {'changed' if real.exists() else 'created'}"),
            _replacing(real, path, force=force) as file,
        ):
            yield file
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror or error}; the output was not created",
            path=path,
        ) from error


def _incomplete(name: str) -> AbstractContextManager[None]:
    return on_stop(lambda: f"{name} is incomplete")


def _standard_output() -> IO[bytes]:
    """Standard output without Python's buffer, which would keep the end of a row at a signal."""
    sys.stdout.flush()
    return cast("IO[bytes]", _Whole(getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)))


@contextmanager
def _replacing(real: Path, path: str, *, force: bool) -> Iterator[IO[bytes]]:
    part = real.with_name(f".frazil-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb", buffering=0) as stored:
            with _packed(cast("IO[bytes]", stored), packing_of(path)) as file:
                yield file
            os.fsync(stored.fileno())
        if real.exists():
            if not force:
                raise _exists(path)
            shutil.copymode(real, part)
        part.replace(real)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _packed(stored: IO[bytes], packing: str | None) -> Iterator[IO[bytes]]:
    if packing == "gzip":
        with gzip.GzipFile("", "wb", 6, stored) as packed:
            yield cast("IO[bytes]", packed)
    elif packing == "zstd":
        import pyarrow as pa

        whole = _Whole(stored)
        target = pa.CompressedOutputStream(pa.PythonFile(whole, "w"), "zstd")
        try:
            yield target
        except BaseException:
            whole.abandoned = True
            raise
        target.close()
    else:
        yield cast("IO[bytes]", _Whole(stored))


class _Whole:
    """A file whose ``write`` writes everything, which an unbuffered one need not; never closed.

    ``abandoned``: after an error, drop what a writer still writes when it is deleted.
    """

    closed = False
    abandoned = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        """Write all of the data."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest and not self.abandoned:
            rest = rest[self._file.write(rest) :]
        return size

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Leave the file open; its owner closes it."""


def _check_output(path: str, real: Path, sources: list[str], *, force: bool) -> None:
    if real.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it", path=path)
    for source in sources:
        if source != "-" and real.exists() and real.samefile(source):
            raise ConfigError(
                f"{path} is also the input; write to another file, then rename it", path=path
            )
    if real.is_file() and not force:
        raise _exists(path)


def _exists(path: str) -> ConfigError:
    return ConfigError(f"{path} exists; name another file, or add --force", path=path)
