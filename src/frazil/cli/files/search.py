"""Duplicates among any number of keys, with the positions of both copies, in bounded memory.

Most files of IDs are in order. Keys that only increase are different, and no search is needed, so
this is noted while they are read. They are also written to a temporary file, 16 bytes for each ID,
and if one does not increase DuckDB counts the distinct ones; it has temporary files of its own for
what exceeds the memory. Only if some repeat are the positions read.

The result is exact. A key is one number, two for IDs of more than 64 bits, or a text.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.ipc

from frazil.cli.files.buffers import as_arrow
from frazil.cli.files.database import connect, temporary_in
from frazil.cli.files.memory import Memory

__all__ = ["Duplicate", "Search"]


class Duplicate(NamedTuple):
    """A key and the positions of its first copy and of this repeat."""

    key: int | str
    first: int
    again: int


class Search:
    """A search among the keys passed to ``add``; its files are in ``folder``."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self._memory = memory
        self._folder = folder
        self._path = folder / "keys"
        self._writer: Any = None
        self._stack = ExitStack()
        self._names: list[str] = []
        self._last: int | None = None
        self.increasing = True
        """Whether each key so far is larger than the one before."""
        self.count = 0

    def add(self, keys: Any, positions: Any) -> None:
        """Add keys (uint64, ints of more than 64 bits, or an Arrow array of texts)."""
        if not len(keys):
            return
        self.count += len(keys)
        columns: list[Any]
        if isinstance(keys, pa.Array):
            columns, self.increasing = [keys], False
        elif keys.dtype == object:
            low = (1 << 64) - 1
            halves = [[n >> 64 for n in keys], [n & low for n in keys]]
            columns, self.increasing = [pa.array(half, pa.uint64()) for half in halves], False
        else:
            columns = [as_arrow(keys)]
            self.increasing = (
                self.increasing
                and (self._last is None or int(keys[0]) > self._last)
                and bool((keys[1:] > keys[:-1]).all())
            )
            self._last = int(keys[-1])
        self._names = [f"key{i}" for i in range(len(columns))]
        batch = pa.record_batch([*columns, as_arrow(positions)], names=[*self._names, "position"])
        with temporary_in(self._folder):
            if self._writer is None:
                file = self._stack.enter_context(pa.OSFile(str(self._path), "wb"))
                self._writer = self._stack.enter_context(pa.ipc.new_stream(file, batch.schema))
            self._writer.write_batch(batch)

    def find(self, kept_max: int) -> tuple[int, list[Duplicate]]:
        """How many keys repeat an earlier one, and the first ``kept_max`` of these, in order."""
        with temporary_in(self._folder):
            self._stack.close()
        if self.increasing or self.count < 2:
            return 0, []
        with temporary_in(self._folder), connect(self._memory, self._folder) as database:
            # Without their order, rows are written to temporary files as they come.
            database.execute("SET preserve_insertion_order = false")
            keys = ", ".join(self._names)
            distinct = self._fetch(
                database, f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM all_keys)"
            )
            count = self.count - int(distinct[0][0])
            if not count or not kept_max:
                return count, []
            self._fetch(
                database,
                f"CREATE TABLE repeated AS SELECT {keys}, min(position) AS first FROM all_keys "
                f"GROUP BY {keys} HAVING count(*) > 1",
            )
            rows = self._fetch(
                database,
                f"SELECT {keys}, first, position FROM all_keys JOIN repeated USING ({keys}) "
                f"WHERE position > first ORDER BY position LIMIT {kept_max}",
            )
        return count, [Duplicate(_key(row[:-2]), row[-2], row[-1]) for row in rows]

    def _fetch(self, database: duckdb.DuckDBPyConnection, query: str) -> list[Any]:
        with pa.OSFile(str(self._path)) as file:  # mapped pages would count as memory
            database.register("all_keys", pa.ipc.open_stream(file))
            try:
                return database.execute(query).fetchall()
            finally:
                database.unregister("all_keys")


def _key(parts: tuple[Any, ...]) -> int | str:
    if len(parts) == 1:
        key: int | str = parts[0]
        return key
    return int(parts[0]) << 64 | int(parts[1])
