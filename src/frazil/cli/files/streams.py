"""Output files of any size, compressed by their names, never half written.

An output is written under a temporary name in the same folder, synced, and renamed at the end. An
existing file does not change until then, and is replaced only with ``--force``.
"""

import gzip
import io
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from frazil.cli._signals import on_stop
from frazil.cli.files.paths import packing_of
from frazil.errors import ConfigError


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
            file: Any = Output(stored)
            if packing_of(path) == "gzip":
                file = gzip.GzipFile("", "wb", 6, file)
            elif packing_of(path) == "zstd":
                import pyarrow as pa

                file = pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
            with file:
                yield file
            os.fsync(stored.fileno())
        _check_output(path, real, [], force=force)  # it may have appeared meanwhile
        if real.exists():
            shutil.copymode(real, part)
        part.replace(real)
    finally:
        part.unlink(missing_ok=True)


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
