"""Standard input, output and error, which may be closed or full when a command starts.

A closed stream is None in Python, and the next file that is opened gets its number. So a closed
stream is replaced: input is empty, a write to output fails, and a write to standard error is
discarded. A message that cannot be written does not fail the command, whether standard error is
closed, full, or a pipe without a reader.
"""

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

OUTPUT = "standard output"
"""The file name in errors of standard output."""


class _Output(io.FileIO):
    """Standard output; its errors carry ``OUTPUT`` as the file name."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = OUTPUT
            if error.errno == errno.EBADF:
                error.strerror = "it is closed, so the result cannot be written"
            raise


class _IgnoringErrors(io.TextIOWrapper):
    """A text file that ignores failed writes."""

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def _text_file(descriptor: int, mode: str) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, mode, closefd=False)
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, "utf-8")


def prepare_streams() -> None:
    """Replace closed streams, name output in its errors, and ignore errors of standard error."""
    is_real = sys.stdout is sys.__stdout__  # not replaced by a test or a calling program
    # The order matters: each new file gets the lowest free number, that of the closed stream.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, _text_file(null, mode))
    out, err = sys.stdout, sys.stderr
    if is_real and isinstance(out, io.TextIOWrapper):
        raw = io.BufferedWriter(_Output(out.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(
            raw, out.encoding, out.errors, line_buffering=out.line_buffering
        )
    if err is sys.__stderr__ and isinstance(err, io.TextIOWrapper):
        sys.stderr = _IgnoringErrors(
            err.buffer, err.encoding, err.errors, line_buffering=err.line_buffering
        )


def discard_output() -> None:
    """Discard buffered output, so that Python does not report an error when it exits."""
    with suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
