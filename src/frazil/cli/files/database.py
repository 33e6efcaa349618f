"""A DuckDB in memory, within the bound."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from frazil.cli.files.memory import Memory

__all__ = ["connect"]

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
