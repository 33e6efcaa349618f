"""Input and output files of any size, compressed or not, never half written.

A tool that opens its output and then fails leaves a file that looks complete. So an output is
written under a temporary name in the same folder and renamed at the end. An existing file does not
change until then, and is replaced only with ``--force``. The input is read forward once, so it can
be a pipe, and it reports its position for the progress bar.

``-`` is standard input or output. A gzip input is recognised by its first bytes, a gzip output by
its name. Limits: text is UTF-8; other bytes are copied unchanged. A line has at most 16 Mi
characters, because a file without line ends would otherwise fill the memory.
"""

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
from functools import partial
from pathlib import Path
from typing import IO, cast

from frazil.errors import ConfigError

__all__ = ["Source", "open_output"]

_GZIP = b"\x1f\x8b"
_LINE_CHARACTERS = 1 << 24
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Source(AbstractContextManager["Source"]):
    """A file to read, or ``-`` for standard input. Raises ConfigError if it cannot be read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "standard input" if path == "-" else path
        self.has_bom = False
        """Whether the first line began with a byte order mark; valid after it was read."""
        self._text: io.TextIOWrapper | None = None
        self.stored: io.BufferedReader
        self.size: int | None = None
        """Bytes in the file as stored; None if unknown."""
        if path == "-":
            # The extra buffer is for ``peek``, which not every standard input has.
            self.stored = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
            return
        try:
            self.stored = Path(path).open("rb")  # noqa: SIM115 (__exit__ closes it)
            status = os.fstat(self.stored.fileno())
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}", path=path) from None
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size

    def bytes_read(self) -> int:
        """Bytes read so far, of ``size``; 0 if the size is unknown."""
        return 0 if self.size is None else self.stored.tell()

    def lines(self, newline: str) -> Iterator[str]:
        """The lines with their ends (``newline`` as for ``open``), without a byte order mark."""
        try:
            start = self.stored.peek(2)[:2]
            if start in _UTF16:
                raise ConfigError(
                    f"{self.name} is UTF-16; convert it first: iconv -f UTF-16 -t UTF-8",
                    path=self.path,
                )
            packed = start == _GZIP
            data = cast("IO[bytes]", gzip.GzipFile(fileobj=self.stored) if packed else self.stored)
            self._text = io.TextIOWrapper(data, "utf-8", "surrogateescape", newline)
            lines = iter(partial(self._text.readline, _LINE_CHARACTERS), "")
            for number, line in enumerate(lines, 1):
                if len(line) == _LINE_CHARACTERS:
                    raise self.error_at(
                        number,
                        f"more than {_LINE_CHARACTERS} characters; is the format right? Set "
                        "another with --format",
                    )
                if number == 1 and line[0] == "\ufeff":
                    self.has_bom = True
                    yield line[1:]
                else:
                    yield line
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"cannot read {self.name} to its end: {reason}", path=self.path
            ) from None

    def error_at(self, number: int, problem: str, unit: str = "line") -> ConfigError:
        """The error for a line or row."""
        return ConfigError(f"{self.name}, {unit} {number}: {problem}", path=self.path, line=number)

    def __exit__(self, *_: object) -> None:
        """Close the file; standard input stays open."""
        if self._text is not None:
            self._text.detach()  # or it would close the file below it
        if self.path == "-":
            self.stored.detach()
        else:
            self.stored.close()


@contextmanager
def open_output(path: str, source: Source, *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, or ``-`` for standard output, that appears complete or not at all.

    Raises ConfigError if the file exists and ``force`` is false, if it is the source, or if it
    cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    real = Path(os.path.realpath(path))
    _check_output(path, real, source, force=force)
    try:
        if real.exists() and not real.is_file():  # a device or a pipe is not renamed
            with real.open("wb") as file:
                yield file
            return
        with _replacing(real, path, force=force) as file:
            yield file
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror or error}; the output was not created",
            path=path,
        ) from error


@contextmanager
def _replacing(real: Path, path: str, *, force: bool) -> Iterator[IO[bytes]]:
    part = real.with_name(f".frazil-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as stored:
            if path.endswith(".gz"):
                with gzip.GzipFile("", "wb", 6, stored) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield stored
            stored.flush()
            os.fsync(stored.fileno())
        if real.exists():
            if not force:
                raise _exists(path)
            shutil.copymode(real, part)
        part.replace(real)
    finally:
        part.unlink(missing_ok=True)


def _check_output(path: str, real: Path, source: Source, *, force: bool) -> None:
    if real.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it", path=path)
    if source.path != "-" and real.exists() and real.samefile(source.path):
        raise ConfigError(
            f"{path} is also the input; write to another file, then rename it", path=path
        )
    if real.is_file() and not force:
        raise _exists(path)


def _exists(path: str) -> ConfigError:
    return ConfigError(f"{path} exists; name another file, or add --force", path=path)
