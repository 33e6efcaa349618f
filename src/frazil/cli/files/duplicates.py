"""Duplicates among any number of keys, in bounded memory, with the positions of both copies.

A set of all keys needs unbounded memory. Sorting the file needs its size again on disk and loses
the positions. A Bloom filter reports false positives. Here keys fill a dict until the memory is
used up. After that, a key in the dict is a duplicate, and any other key goes with its position to
one of 64 temporary files, chosen by its hash, so that equal keys meet in the same file. Then each
file is searched in the same way, with its own dict and, if needed, its own files. Every level
removes one dict of keys, so the search ends, even if all keys are equal.

The result is exact. Each file keeps the order of its keys, so the positions are those of the first
copy and of the repeat. Disk: about 30 bytes for each key beyond the memory (texts: their length
plus 10), written once per level; with 256 MiB the second level begins at about 80 million keys.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sys import getsizeof
from typing import IO, NamedTuple

__all__ = ["Duplicate", "Duplicates", "Key"]

Key = int | str

_PART_BITS = 6
_PARTS = 1 << _PART_BITS
_LOW = (1 << 64) - 1
_STEP = 1024
_ENTRY_BYTES = 160  # an entry of a dict that has just grown, and a position
_BUFFERED_BYTES = 100  # a key and a position in two lists


class Duplicate(NamedTuple):
    """A key and the positions of its first copy and of this repeat."""

    key: Key
    first: int
    again: int


class Duplicates:
    """A search in ``memory_bytes``; further keys go to files in ``folder``.

    Pass keys to ``add``, then call ``rest``; both return the duplicates they find.
    """

    def __init__(self, memory_bytes: int, folder: Path, level: int = 0) -> None:
        self._memory_bytes = memory_bytes
        self._folder = folder
        self._level = level
        self._seen: dict[Key, int] = {}
        self._used_bytes = 0
        self._files: list[IO[str]] = []
        self._buffers: list[tuple[list[Key], list[int]]] = []
        self._buffered = 0
        self._buffered_max = max(_STEP, memory_bytes // 4 // _BUFFERED_BYTES)
        self._flushed = 0
        self.parts = 0
        """Files that were written, on all levels."""

    @property
    def spilled(self) -> int:
        """Keys that did not fit in memory."""
        return self._flushed + self._buffered

    def add(self, keys: Sequence[Key], positions: Sequence[int]) -> list[Duplicate]:
        """Look for keys among all earlier ones, and add them with their positions."""
        found: list[Duplicate] = []
        for i in range(0, len(keys), _STEP):
            self._step(keys[i : i + _STEP], positions[i : i + _STEP], found)
        return found

    def rest(self, on_progress: Callable[[int], None] = lambda _done: None) -> Iterator[Duplicate]:
        """The duplicates among the keys in files; ``on_progress`` receives how many were read."""
        self._flush()
        self._seen = {}
        names = [Path(file.name) for file in self._files]
        for file in self._files:
            file.close()
        done = 0
        for name in names:
            part = Duplicates(self._memory_bytes, self._folder, self._level + 1)
            with name.open(encoding="ascii") as lines:
                for line in lines:
                    keys, positions = json.loads(line)
                    yield from part.add(keys, positions)
                    done += len(keys)
                    on_progress(done)
            name.unlink()
            yield from part.rest()
            self.parts += part.parts

    def _step(self, keys: Sequence[Key], positions: Sequence[int], found: list[Duplicate]) -> None:
        seen = self._seen
        fits = self._used_bytes < self._memory_bytes * 3 // 4
        if fits and len(set(keys)) == len(keys) and seen.keys().isdisjoint(keys):
            seen.update(zip(keys, positions, strict=True))
            self._used_bytes += _ENTRY_BYTES * len(keys) + sum(map(getsizeof, keys))
            return
        for key, position in zip(keys, positions, strict=True):
            first = seen.get(key)
            if first is not None:
                found.append(Duplicate(key, first, position))
            elif fits:
                seen[key] = position
                self._used_bytes += _ENTRY_BYTES + getsizeof(key)
            else:
                self._spill(key, position)
        if self._buffered >= self._buffered_max:
            self._flush()

    def _spill(self, key: Key, position: int) -> None:
        if not self._files:
            names = [self._folder / f"{self._level}-{part}" for part in range(_PARTS)]
            self._files = [name.open("x", encoding="ascii") for name in names]  # closed by ``rest``
            self._buffers = [([], []) for _ in names]
            self.parts = _PARTS
        keys, positions = self._buffers[_hash(key) >> self._level * _PART_BITS & _PARTS - 1]
        keys.append(key)
        positions.append(position)
        self._buffered += 1

    def _flush(self) -> None:
        for file, (keys, positions) in zip(self._files, self._buffers, strict=True):
            if keys:
                file.write(json.dumps((keys, positions)) + "\n")
                keys.clear()
                positions.clear()
        self._flushed += self._buffered
        self._buffered = 0


def _hash(key: Key) -> int:
    """A hash of 64 bits, all equally random; each level uses six of them.

    IDs differ in few bits, and Python's hash of an int is the int. The hash of a tuple keeps so
    much of the pattern that the files of a second level would be empty or far too large. This is
    the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
    """
    bits = hash(key) & _LOW
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _LOW
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _LOW
    return bits ^ bits >> 31
