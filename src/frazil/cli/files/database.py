"""A DuckDB in memory, within the bound, and its errors with the file and the line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from frazil.cli.files.places import fault
from frazil.cli.files.reading import Reading, printable
from frazil.errors import ConfigError

__all__ = ["connect", "unreadable"]

_THREAD_BYTES = 96 << 20  # with less for each thread, a sort beyond the memory fails
_INTERRUPTED = "Query interrupted"  # what DuckDB says after Ctrl-C in the main thread


@contextmanager
def connect(memory_bytes: int, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that keeps the order of rows, and is closed at the end of the block.

    Ctrl-C in the block is KeyboardInterrupt, also where DuckDB raises an error of its own.
    """
    database = duckdb.connect(
        config={
            "memory_limit": f"{memory_bytes >> 20}MiB",
            "temp_directory": str(folder / "duckdb"),
        }
    )
    try:
        database.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        database.execute("SET TimeZone = 'UTC'")
        threads = max(1, memory_bytes // _THREAD_BYTES)
        database.execute(f"SET threads = least({threads}, current_setting('threads'))")
        yield database
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        database.close()


def unreadable(reading: Reading, error: Exception) -> ConfigError:
    """The error for files that DuckDB cannot read: the line and what is wrong with it."""
    text = str(error)
    if "IO Error" in text and ("write" in text or "temp" in text.lower()):
        return ConfigError(
            f"cannot write temporary files in {reading.folder.parent}: {_short(text)}"
        )
    if reading.kind in ("csv", "jsonl", "text") and (
        found := fault(reading, ends="state machine" in text)
    ):
        return found
    first = printable("standard input" if reading.files[0] == "-" else reading.files[0])
    if len(reading.files) > 1:
        first += f" or one of the {len(reading.files) - 1} files after it"
    return ConfigError(f"cannot read {first}: {_short(text)}", path=reading.files[0])


def _short(text: str) -> str:
    """The first sentence, without the options of DuckDB, which frazil does not have."""
    text = " ".join(text.split())
    return re.split(r" ?(Possible|Try setting|This can happen|LINE 1:) ?", text)[0][:400]
