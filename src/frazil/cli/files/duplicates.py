"""Duplicates among any number of keys, in bounded memory, and where both copies stand.

A set of all keys needs memory without end; sorting the file needs its size again on disk and loses
the positions; a Bloom filter says "perhaps". Here keys fill a dict until the memory given is used
up. From then on a key that is in the dict is a duplicate, and one that is not goes, by a hash of
it, to one of 64 temporary files with its position: equal keys meet in the same file. Afterwards
each file is read in the same way, with a dict of its own, and files of its own if it needs them.
Every level disposes of a dictful of keys, so this ends, and even when all keys are equal.

The answer is exact, and the positions are those of the first copy and of the repeat, since within
a file everything keeps its order. Disk: about 30 bytes for each key beyond the memory (texts: their
length and 10), written once for each level; with 256 MiB the second begins at about 80 million.
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
_ENTRY_BYTES = 160  # a place in a dict that has just grown, and a position
_BUFFERED_BYTES = 100  # a key and a position in two lists


class Duplicate(NamedTuple):
    """A key and the positions of its first copy and of this repeat."""

    key: Key
    first: int
    again: int


class Duplicates:
    """A search in ``memory`` bytes; what is more goes to files in ``folder``.

    Give keys with ``add``, then take the ``rest``; both answer the duplicates found on the way.
    """

    def __init__(self, memory: int, folder: Path, level: int = 0) -> None:
        self._memory = memory
        self._folder = folder
        self._level = level
        self._seen: dict[Key, int] = {}
        self._used = 0
        self._files: list[IO[str]] = []
        self._buffers: list[tuple[list[Key], list[int]]] = []
        self._buffered = 0
        self._buffer_rows = max(_STEP, memory // 4 // _BUFFERED_BYTES)
        self._flushed = 0
        self.parts = 0
        """Files that were written, those of all levels."""

    @property
    def spilled(self) -> int:
        """Keys that did not fit into the memory."""
        return self._flushed + self._buffered

    def add(self, keys: Sequence[Key], positions: Sequence[int]) -> list[Duplicate]:
        """Look for keys, each with its position, among all before."""
        found: list[Duplicate] = []
        for at in range(0, len(keys), _STEP):
            self._step(keys[at : at + _STEP], positions[at : at + _STEP], found)
        return found

    def rest(self, tell: Callable[[int], None] = lambda _done: None) -> Iterator[Duplicate]:
        """The duplicates among what went to files; ``tell`` hears how many of those were read."""
        self._flush()
        self._seen = {}
        names = [Path(file.name) for file in self._files]
        for file in self._files:
            file.close()
        done = 0
        for name in names:
            part = Duplicates(self._memory, self._folder, self._level + 1)
            with name.open(encoding="ascii") as lines:
                for line in lines:
                    keys, positions = json.loads(line)
                    yield from part.add(keys, positions)
                    done += len(keys)
                    tell(done)
            name.unlink()
            yield from part.rest()
            self.parts += part.parts

    def _step(self, keys: Sequence[Key], positions: Sequence[int], found: list[Duplicate]) -> None:
        seen = self._seen
        room = self._used < self._memory * 3 // 4
        if room and len(set(keys)) == len(keys) and seen.keys().isdisjoint(keys):
            seen.update(zip(keys, positions, strict=True))
            self._used += _ENTRY_BYTES * len(keys) + sum(map(getsizeof, keys))
            return
        for key, position in zip(keys, positions, strict=True):
            first = seen.get(key)
            if first is not None:
                found.append(Duplicate(key, first, position))
            elif room:
                seen[key] = position
                self._used += _ENTRY_BYTES + getsizeof(key)
            else:
                self._put(key, position)
        if self._buffered >= self._buffer_rows:
            self._flush()

    def _put(self, key: Key, position: int) -> None:
        if not self._files:
            self._open()
        some, where = self._buffers[_mixed(key) >> self._level * _PART_BITS & _PARTS - 1]
        some.append(key)
        where.append(position)
        self._buffered += 1

    def _open(self) -> None:
        names = [self._folder / f"{self._level}-{part}" for part in range(_PARTS)]
        self._files = [name.open("x", encoding="ascii") for name in names]  # closed by ``rest``
        self._buffers = [([], []) for _ in names]
        self.parts = _PARTS

    def _flush(self) -> None:
        for file, (keys, positions) in zip(self._files, self._buffers, strict=True):
            if keys:
                file.write(json.dumps((keys, positions)) + "\n")
                keys.clear()
                positions.clear()
        self._flushed += self._buffered
        self._buffered = 0


def _mixed(key: Key) -> int:
    """64 bits of a key, each as good as random; every level takes other ones of them.

    IDs differ in few bits, Python's hash of an int is the int, and that of a tuple of it keeps so
    much of the pattern that the files of a second level would be empty or far too large. This is
    the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
    """
    bits = hash(key) & _LOW
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _LOW
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _LOW
    return bits ^ bits >> 31
