"""Duplicates among any number of keys, with the positions of both copies, in bounded memory.

Most files of IDs are in order. Keys that only increase are different, and no search is needed, so
this is noted while they are read. They are also written to a temporary file, 16 bytes for each ID.
If one does not increase they are sorted, and equal keys become neighbours. Keys that do not fit the
memory are first divided among files by a hash, so that equal keys meet in the same file.

DuckDB could search, but neither its DISTINCT nor its sort stays within a memory of 192 MiB at some
hundred million keys; both end with an error.

The result is exact. A key is one number, two for IDs of more than 64 bits, or a text. Limits: a
file is divided among at most 512 others, so beyond 1.5 billion IDs for each 512 MiB the memory
grows.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from frazil.cli.files.buffers import as_arrow, as_numpy
from frazil.cli.files.memory import Memory
from frazil.cli.files.reading import temporary_in

__all__ = ["Duplicate", "Search"]

_COPIES = 4  # in memory while keys are sorted, with the order and the positions
_PARTS_MAX = 512
_MIX = 0x9E3779B97F4A7C15  # odd, and its bits look random


class Duplicate(NamedTuple):
    """A key and the positions of its first copy and of this repeat."""

    key: int | str
    first: int
    again: int


class Search:
    """A search among the keys passed to ``add``; its files are in ``folder``."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "keys"
        self._bytes_max = memory.database_bytes // _COPIES
        self._bytes = 0
        self._writer: Any = None
        self._stack = ExitStack()
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
            halves = [[n & low for n in keys], [n >> 64 for n in keys]]
            columns = [as_arrow(np.array(half, np.uint64)) for half in halves]
            self.increasing = False
        else:
            columns = [as_arrow(keys)]
            self.increasing = (
                self.increasing
                and (self._last is None or int(keys[0]) > self._last)
                and bool((keys[1:] > keys[:-1]).all())
            )
            self._last = int(keys[-1])
        names = ["low", "high"][: len(columns)]
        batch = pa.record_batch([as_arrow(positions), *columns], names=["position", *names])
        self._bytes += batch.nbytes
        with temporary_in(self._folder):
            if self._writer is None:
                self._writer = self._open(self._path, batch.schema)
            self._writer.write_batch(batch)

    def find(self, kept_max: int) -> tuple[int, list[Duplicate]]:
        """How many keys repeat an earlier one, and the first ``kept_max`` of these, in order."""
        with temporary_in(self._folder):
            self._stack.close()
            if self.increasing or self.count < 2:
                return 0, []
            count, first = 0, list[Duplicate]()
            for part in self._parts():
                repeats, found = _search(self._read(part), kept_max)
                count += repeats
                first = nsmallest(kept_max, [*first, *found], key=lambda each: each.again)
        return count, first

    def _open(self, path: Path, schema: Any) -> Any:
        file = self._stack.enter_context(pa.OSFile(str(path), "wb"))
        return self._stack.enter_context(pa.ipc.new_stream(file, schema))

    def _read(self, path: Path) -> Iterator[Any]:
        """The rows of a file, in tables that fit the memory."""
        some: list[Any] = []
        size = 0
        with pa.OSFile(str(path)) as file:  # mapped pages would count as memory
            for batch in pa.ipc.open_stream(file):
                some.append(batch)
                size += batch.nbytes
                if size > self._bytes_max:
                    yield pa.Table.from_batches(some)
                    some, size = [], 0
        if some:
            yield pa.Table.from_batches(some)

    def _parts(self) -> list[Path]:
        """Files of keys, none of which has a key of another."""
        if self._bytes <= self._bytes_max:
            return [self._path]
        count = min(1 + 2 * self._bytes // self._bytes_max, _PARTS_MAX)
        paths = [self._folder / f"keys-{part}" for part in range(count)]
        writers: list[Any] = []
        with self._stack:
            for table in self._read(self._path):
                writers = writers or [self._open(path, table.schema) for path in paths]
                part_of = (_hashes(table) % np.uint64(count)).astype(np.uint16)
                rows = table.take(as_arrow(np.argsort(part_of, kind="stable")))
                at = 0
                sizes = np.bincount(part_of, minlength=count).tolist()
                for writer, size in zip(writers, sizes, strict=True):
                    writer.write_table(rows.slice(at, size))
                    at += size
        self._path.unlink()
        return paths


def _hashes(table: Any) -> Any:
    """A number for each key of a table, the same for equal keys."""
    keys = table.column(1).combine_chunks()
    if pa.types.is_string(keys.type):
        texts = np.fromiter(map(hash, keys.to_pylist()), np.int64, len(keys))
        return texts.view(np.uint64) >> np.uint64(8)
    # Only the upper bits of a product depend on all bits of a key.
    return as_numpy(keys) * np.uint64(_MIX) >> np.uint64(40)


def _search(tables: Iterator[Any], kept_max: int) -> tuple[int, list[Duplicate]]:
    """How many keys of some tables repeat an earlier one, and the first of these."""
    count, found, seen = 0, list[Duplicate](), None
    for some in tables:
        table = some if seen is None else pa.concat_tables([seen, some])
        codes = _codes(table)
        if seen is None and _all_differ(codes):
            seen = table
            continue
        order = np.lexsort(codes)  # equal keys stay in the order of their positions
        new = np.ones(len(order), bool)
        new[1:] = np.logical_or.reduce([c[order[1:]] != c[order[:-1]] for c in codes])
        again = np.flatnonzero(~new)
        count += len(again)
        first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
        again = again[np.argsort(order[again], kind="stable")][:kept_max]
        found += [_duplicate(table, int(order[first[i]]), int(order[i])) for i in again]
        seen = table.take(as_arrow(np.sort(order[new])))
    return count, found


def _codes(table: Any) -> list[Any]:
    """The keys of a table as arrays of numbers, the lowest first."""
    columns = [column.combine_chunks() for column in table.columns[1:]]
    if pa.types.is_string(columns[0].type):
        return [as_numpy(columns[0].dictionary_encode().indices)]
    return [as_numpy(column) for column in columns]


def _all_differ(codes: list[Any]) -> bool:
    if len(codes) > 1:
        return False
    ordered = np.sort(codes[0])
    return not (ordered[1:] == ordered[:-1]).any()


def _duplicate(table: Any, first: int, again: int) -> Duplicate:
    position, *key = (column[again].as_py() for column in table.columns)
    number = key[0] if len(key) == 1 else key[1] << 64 | key[0]
    return Duplicate(number, table.column(0)[first].as_py(), position)
