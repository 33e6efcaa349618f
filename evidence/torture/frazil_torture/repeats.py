"""Repeats among any number of IDs, in bounded memory, with the positions of both copies.

Nearly all IDs of a run are removed by the prefilter. Without numpy there is none, and a set of all
IDs would need unbounded memory. So they go to a table of SQLite in a temporary file, and SQLite
sorts them, with temporary files of its own.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

__all__ = ["Repeat", "Repeats"]

_REPEATS = """
SELECT id, first, position
FROM (SELECT id, position, min(position) OVER (PARTITION BY id) AS first FROM ids)
WHERE position > first ORDER BY position
"""
_ID_BYTES = 16


class Repeat(NamedTuple):
    """An ID and the positions of its first copy and of this repeat."""

    key: int
    first: int
    again: int


class Repeats:
    """A search among the IDs passed to ``add``, in a file in ``folder``; ``rest`` finds them."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ids.db"

    @cached_property
    def _table(self) -> sqlite3.Connection:
        # Opened by the first ``add``, after the last fork. It is of no use after a crash, so
        # nothing is synced.
        table = sqlite3.connect(self._path)
        table.execute("PRAGMA synchronous = OFF")
        table.execute("PRAGMA journal_mode = OFF")
        table.execute("CREATE TABLE ids (id BLOB, position INTEGER)")
        return table

    def add(self, keys: Sequence[int], positions: Sequence[int]) -> Sequence[Repeat]:
        """Add IDs and their positions. None is found before ``rest``."""
        ids = (key.to_bytes(_ID_BYTES, "big") for key in keys)
        self._table.executemany("INSERT INTO ids VALUES (?, ?)", zip(ids, positions, strict=True))
        return ()

    def rest(self) -> Iterator[Repeat]:
        """The repeats, in the order of their positions."""
        with closing(self._table) as table:
            for key, first, again in table.execute(_REPEATS):
                yield Repeat(int.from_bytes(key, "big"), first, again)
        self._path.unlink()
