"""A disk on which only synced data is certain, and the states that a power cut leaves on it.

``Disk`` replays a recording (``recorder.c``) and can be asked at any moment what a power cut would
leave. Between two syncs of a file the system may have written any part of it, in any order. So each
sector of 512 bytes of each write not yet synced is on the disk or is not, whatever became of the
others; a size may have changed although the data is missing, and then old rubbish stands there; a
truncation may be lost. A name is a fact of its directory: without a sync of the directory a new
file may be missing and a deleted one may be back. A sync that was not over counts for nothing.

That is all that POSIX allows, and more than one kind of disk and file system does. Not modelled: a
disk that loses what it had confirmed, and a write that damages sectors beside its own.
"""

import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
_HEAD = struct.Struct("=cxxxIQqq")


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of the log. ``place`` is where it stands, and what a sync's two entries share."""

    kind: str
    inode: int
    at: int
    path: str
    data: bytes
    place: int


def events(log: Path) -> Iterator[Event]:
    """All entries of a log, in order."""
    whole, place = log.read_bytes(), 0
    while place < len(whole):
        kind, path_bytes, inode, at, data_bytes = _HEAD.unpack_from(whole, place)
        data_place = place + _HEAD.size + path_bytes
        path = whole[place + _HEAD.size : data_place].decode()
        data = whole[data_place : data_place + data_bytes]
        yield Event(kind.decode(), inode, at, path, data, place)
        place = data_place + data_bytes


@dataclass(eq=False, slots=True)
class File:
    """A file: what is certain, and each change since, with the place of its entry in the log."""

    inode: int
    certain: bytes = b""
    changes: list[Event] = field(default_factory=list)

    def sync(self, begun: int) -> None:
        """All writes before ``begun`` are certain now."""
        settled = [each for each in self.changes if each.place < begun]
        self.changes = [each for each in self.changes if each.place >= begun]
        self.certain = _written(self.certain, settled, lambda *_: True, b"\0")


@dataclass(frozen=True, slots=True)
class Renaming:
    """Names of one directory that changed together; None is a name with nothing behind it."""

    place: int
    directory: str
    names: dict[str, File | None]


Keep = Callable[[Event | Renaming, int], bool]


class Disk:
    """The operations of the recorded processes, up to now. A directory is a File without writes."""

    def __init__(self, root_inode: int) -> None:
        self._directories = {root_inode: ""}
        self._files: dict[int, File] = {}
        self._certain: dict[str, File] = {}
        self._names: dict[str, File] = {}
        self._renamings: list[Renaming] = []
        self._begun: set[int] = set()

    def apply(self, event: Event) -> None:
        """One more entry of the log."""
        getattr(self, f"_{_KINDS[event.kind]}")(event)

    def _open(self, event: Event) -> None:
        known = self._names.get(event.path)
        if known is None or known.inode != event.inode:
            known = self._files[event.inode] = File(event.inode)
            self._rename(event, {event.path: known})
        elif event.at:
            known.changes.append(Event("t", event.inode, 0, "", b"", event.place))

    def _make_directory(self, event: Event) -> None:
        self._directories[event.inode] = event.path
        self._rename(event, {event.path: File(event.inode)})

    def _change(self, event: Event) -> None:
        self._files[event.inode].changes.append(event)

    def _unlink(self, event: Event) -> None:
        self._rename(event, {event.path: None})

    def _move(self, event: Event) -> None:
        moved = self._names[event.path]
        self._rename(event, {event.path: None, event.data.decode(): moved})

    def _rename(self, event: Event, names: dict[str, File | None]) -> None:
        _apply_names(self._names, names)
        self._renamings.append(Renaming(event.place, _parent(event.path), names))

    def _begin_sync(self, event: Event) -> None:
        self._begun.add(event.place)

    def _end_sync(self, event: Event) -> None:
        assert event.at in self._begun
        directory = self._directories.get(event.inode)
        if directory is None:
            self._files[event.inode].sync(event.at)
            return
        for each in [each for each in self._renamings if self._settled(each, directory, event.at)]:
            _apply_names(self._certain, each.names)
            self._renamings.remove(each)

    def _settled(self, renaming: Renaming, directory: str, begun: int) -> bool:
        return renaming.directory == directory and renaming.place < begun

    def _note(self, event: Event) -> None:
        """A process's note changes nothing on the disk."""

    def uncertain(self) -> list[Event | Renaming]:
        """All that a power cut may or may not undo, in the order in which it happened."""
        found: list[Event | Renaming] = list(self._renamings)
        for file in {id(file): file for file in self._reachable()}.values():
            found += file.changes
        return sorted(found, key=lambda each: each.place)

    def _reachable(self) -> Iterator[File]:
        yield from self._certain.values()
        for renaming in self._renamings:
            yield from (file for file in renaming.names.values() if file is not None)

    def after_cut(self, keep: Keep, rubbish: bytes) -> dict[str, tuple[File, bytes]]:
        """The files, by name, if ``keep`` says which sectors and names had reached the disk."""
        names = dict(self._certain)
        for renaming in self._renamings:
            if keep(renaming, 0):
                _apply_names(names, renaming.names)
        directories = set(self._directories.values())
        return {
            name: (file, _written(file.certain, file.changes, keep, rubbish))
            for name, file in names.items()
            if name not in directories and _has_parents(name, names)
        }


_KINDS = {"o": "open", "m": "make_directory", "w": "change", "t": "change", "u": "unlink"}
_KINDS |= {"r": "move", "s": "begin_sync", "S": "end_sync", "n": "note"}


def _apply_names(names: dict[str, File], changed: dict[str, File | None]) -> None:
    for name, file in changed.items():
        if file is None:
            names.pop(name, None)
        else:
            names[name] = file


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _has_parents(name: str, names: dict[str, File]) -> bool:
    parent = _parent(name)
    return not parent or (parent in names and _has_parents(parent, names))


def _written(certain: bytes, changes: list[Event], keep: Keep, rubbish: bytes) -> bytes:
    """The content after those changes of which ``keep`` says so; gaps are filled with rubbish."""
    data = bytearray(certain)

    def extend(size: int) -> None:
        lacking = size - len(data)
        if lacking > 0:
            data.extend((rubbish * (lacking // len(rubbish) + 1))[:lacking])

    for change in changes:
        if change.kind == "t":
            if keep(change, 0):
                del data[change.at :]
                data.extend(bytes(change.at - len(data)))
            continue
        end = change.at + len(change.data)
        begin = change.at
        while begin < end:
            stop = min(end, begin - begin % SECTOR + SECTOR)
            if keep(change, begin // SECTOR):
                extend(begin)
                data[begin:stop] = change.data[begin - change.at : stop - change.at]
            elif keep(change, -1):
                extend(stop)
            begin = stop
    return bytes(data)


def _ordered(disk: Disk, dice: random.Random) -> Keep:
    """All up to a moment since the last sync, and the first sectors of one write more."""
    chances = [each.place for each in disk.uncertain()] or [0]
    last, sectors = dice.choice(chances), dice.randrange(8)

    def keep(change: Event | Renaming, sector: int) -> bool:
        if change.place != last or isinstance(change, Renaming) or change.kind == "t":
            return change.place <= last
        return 0 <= sector - change.at // SECTOR < sectors

    return keep


def _all_but_one(disk: Disk, dice: random.Random) -> Keep:
    missing = dice.choice([each.place for each in disk.uncertain()] or [-1])
    return lambda change, _: change.place != missing


def _some(disk: Disk, dice: random.Random) -> Keep:
    share = dice.choice([0.1, 0.5, 0.9, 0.99])
    return lambda *_: dice.random() < share


def _whole_writes(disk: Disk, dice: random.Random) -> Keep:
    kept = {each.place: dice.random() < 0.5 for each in disk.uncertain()}
    return lambda change, _: kept.get(change.place, True)


def _whole_files(disk: Disk, dice: random.Random) -> Keep:
    kept = {True: dice.random() < 0.8}  # the names; then each file

    def keep(change: Event | Renaming, _: int) -> bool:
        key = True if isinstance(change, Renaming) else -change.inode
        return kept.setdefault(key, dice.random() < 0.5)

    return keep


VARIANTS: dict[str, Callable[[Disk, random.Random], Keep]] = {
    "nothing that was not synced": lambda *_: lambda *_: False,
    "everything": lambda *_: lambda *_: True,
    "an ordered part": _ordered,
    "all but one": _all_but_one,
    "some sectors": _some,
    "some writes": _whole_writes,
    "some files": _whole_files,
}
