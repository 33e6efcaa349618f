"""Files in and out, as a command needs them: any size, compressed or not, never half written.

A tool that opens its output and then fails leaves a file that looks finished. So an output is
written under a temporary name in its own folder and takes its place in one step when all is well;
what existed before is untouched until then, and is only ever replaced when that was asked for. The
input is read forward once, so a pipe will do, and says how far it is for the progress bar.

``-`` is standard input or output. A gzip input is known by its first bytes, a gzip output by its
name. Limits: text is UTF-8; bytes that are not are carried along unchanged. A line has at most
16 Mi characters, since a file without line ends would otherwise be read into memory whole.
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
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Self, cast

from frazil.errors import ConfigError

__all__ = ["Source", "target"]

_GZIP = b"\x1f\x8b"
_LINE_CHARACTERS = 1 << 24
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Source:
    """A file to read, or ``-`` for standard input. Raises ConfigError where it cannot be."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = "standard input" if path == "-" else path
        self.marked = False
        """Whether the lines, once one was read, began with a byte order mark."""
        self._text: io.TextIOWrapper | None = None
        self.size: int | None = None
        """Bytes in the file as stored; None where nobody knows."""
        if path == "-":
            # Another buffer on top, because not every stdin can be looked ahead in.
            self.stored = cast(
                "io.BufferedReader", io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
            )
            return
        try:
            self.stored = Path(path).open("rb")  # noqa: SIM115 (close does it)
            status = os.fstat(self.stored.fileno())
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}", path=path) from None
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size

    def done(self) -> int:
        """Bytes read so far, of ``size``; 0 where there is no size."""
        return 0 if self.size is None else self.stored.tell()

    def lines(self, newline: str) -> Iterator[str]:
        """The lines with their ends (``newline`` as for ``open``), without a byte order mark."""
        with self.reading():
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
                    raise ConfigError(
                        f"{self.name}, line {number}: more than {_LINE_CHARACTERS} characters; "
                        "is this the format? Say another with --format",
                        path=self.path,
                        line=number,
                    )
                if number == 1 and line[0] == "\ufeff":
                    self.marked = True
                    yield line[1:]
                else:
                    yield line

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turns what goes wrong with the file inside the block into a ConfigError."""
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"{self.name} cannot be read to its end: {reason}", path=self.path
            ) from None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._text is not None:
            self._text.detach()  # or it would close what it reads when it goes
        if self.path == "-":
            self.stored.detach()
        else:
            self.stored.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def target(path: str, source: Source, *, force: bool) -> Iterator[IO[bytes]]:
    """A file to write, or ``-`` for standard output, that appears whole or not at all.

    Raises ConfigError where the file exists and ``force`` is not given, where it is the source,
    and where it cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(os.path.realpath(path))
    _check(path, place, source, force=force)
    try:
        if place.exists() and not place.is_file():  # a device or a pipe: there is nothing to rename
            with place.open("wb") as file:
                yield file
            return
        with _replacing(place, path, force=force) as file:
            yield file
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror or error}; nothing was left there",
            path=path,
        ) from error


@contextmanager
def _replacing(place: Path, path: str, *, force: bool) -> Iterator[IO[bytes]]:
    part = place.with_name(f".frazil-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as stored:
            if path.endswith(".gz"):
                with gzip.GzipFile("", "wb", 6, stored) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield stored
            stored.flush()
            os.fsync(stored.fileno())
        if place.exists():
            if not force:
                raise _taken(path)
            shutil.copymode(place, part)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _check(path: str, place: Path, source: Source, *, force: bool) -> None:
    if place.is_dir():
        raise ConfigError(f"{path} is a folder; name a file in it", path=path)
    if source.path != "-" and place.exists() and place.samefile(source.path):
        raise ConfigError(
            f"{path} is the input itself; write to another file, and rename that", path=path
        )
    if place.is_file() and not force:
        raise _taken(path)


def _taken(path: str) -> ConfigError:
    return ConfigError(f"{path} exists; name another file, or add --force", path=path)
