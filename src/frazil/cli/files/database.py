"""A DuckDB in memory, within the bound, with its temporary files in a folder of the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from frazil.cli.files.memory import Memory

__all__ = ["connect"]


@contextmanager
def connect(memory: Memory, folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that keeps the order of rows, and is closed at the end of the block."""
    database = duckdb.connect(
        config={
            "memory_limit": f"{memory.database_bytes >> 20}MiB",
            "temp_directory": str(folder / "duckdb"),
        }
    )
    try:
        database.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        database.execute("SET TimeZone = 'UTC'")
        yield database
    finally:
        database.close()
