"""Standard input, output and error, which whoever starts a command may have closed or filled up.

A closed one is None in Python, and the next file that is opened gets its number. So it is replaced:
input by an empty one, output by one to which nothing can be written, which is an error as soon as
something is, and error by one that forgets. What is told to people and cannot be is no failure of
the command, whether standard error is closed, full, or a pipe without a reader.
"""

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

__all__ = ["OUTPUT", "drop_output", "settle"]

OUTPUT = "standard output"
"""The name of the file in its errors."""


class _Output(io.FileIO):
    """Standard output; an error of it says so."""

    def write(self, data: Any, /) -> int:
        """See io.FileIO."""
        try:
            return super().write(data)
        except OSError as error:
            error.filename = OUTPUT
            if error.errno == errno.EBADF:
                error.strerror = "it is closed, and there is something to write to it"
            raise


class _Forgiving(io.TextIOWrapper):
    """A text file whose errors nobody hears of."""

    def write(self, text: str, /) -> int:
        """See io.TextIOWrapper."""
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """See io.TextIOWrapper."""
        with suppress(OSError):
            super().flush()


def _text(number: int, mode: str) -> io.TextIOWrapper:
    raw = io.FileIO(number, mode, closefd=False)
    kept = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(kept, "utf-8")


def settle() -> None:
    """Replace what is closed, let errors of output say so, and let standard error forgive."""
    ours = sys.stdout is sys.__stdout__  # and no test's, or a program's that calls the command
    # In this order, in which each gets the number of the one that is closed.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, _text(nowhere, mode))
    out, told = sys.stdout, sys.stderr
    if ours and isinstance(out, io.TextIOWrapper):
        raw = io.BufferedWriter(_Output(out.fileno(), "w", closefd=False))
        sys.stdout = io.TextIOWrapper(
            raw, out.encoding, out.errors, line_buffering=out.line_buffering
        )
    if told is sys.__stderr__ and isinstance(told, io.TextIOWrapper):
        sys.stderr = _Forgiving(
            told.buffer, told.encoding, told.errors, line_buffering=told.line_buffering
        )


def drop_output() -> None:
    """Send what is still to be written nowhere; nobody reads it, and Python would complain."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
