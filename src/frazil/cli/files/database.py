"""A DuckDB in memory, within the bound, and the temporary files in a folder of the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from frazil.cli.files.memory import Memory
from frazil.errors import ConfigError

__all__ = ["connect", "temporary_in"]

_THREAD_BYTES = 96 << 20  # with less for each thread, a sort beyond the memory fails
_INTERRUPTED = "Query interrupted"  # what DuckDB says after Ctrl-C in the main thread


@contextmanager
def connect(memory: Memory, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that keeps the order of rows, and is closed at the end of the block.

    Ctrl-C in the block is KeyboardInterrupt, also where DuckDB raises an error of its own.
    """
    database = duckdb.connect(
        config={
            "memory_limit": f"{memory.database_bytes >> 20}MiB",
            "temp_directory": str(folder / "duckdb"),
        }
    )
    try:
        database.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        database.execute("SET TimeZone = 'UTC'")
        threads = max(1, memory.database_bytes // _THREAD_BYTES)
        database.execute(f"SET threads = least({threads}, current_setting('threads'))")
        yield database
    except RuntimeError as error:
        if str(error) == _INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        database.close()


@contextmanager
def temporary_in(folder: Path) -> Iterator[None]:
    """A block that writes temporary files. Raises ConfigError if they have no room."""
    try:
        yield
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())[:400]
        raise ConfigError(
            f"cannot write temporary files in {folder.parent}: {reason}; name a folder with more "
            "room with TMPDIR",
            path=str(folder.parent),
        ) from error
