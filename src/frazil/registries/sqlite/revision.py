"""Detect an older copy of a file, which the file itself cannot show.

A file of claims that was restored from a copy looks valid. Even its inode may be the same: ``cp``
writes into the existing file, and file systems reuse inode numbers. So every step also writes the
latest revision *beside* the file, into ``<file>-revision``. Restoring the database does not restore
this file, and then the two differ.

The database stores its revision as SQLite's ``user_version``, in the first page. Two revisions can
be compared: the one that SQLite reads, with the write-ahead log applied, and the one in the header
of the main file, which changes only at a checkpoint (``flushed``). The second one matters because
SQLite applies any log that it finds: an older file with a newer log would become a mixture that
looks like the newest state. A log fits a main file with the same page layout (the schema cookie,
which VACUUM changes) that is not older than the log's first commit and not newer than its last. A
log that does not fit is removed before SQLite opens the file.

**Each step writes two notes**: a *pending* one before the commit, and a *settled* one after it and
before the answer is used. If the process dies in between, the answer was not used, so the state
before and the state after are both valid. The two notes are in two sectors and written alternately,
so a torn write damages only one.

Two kinds of signs are derived, each a part of the incarnation:

- *lineage*: the contents differ from the note, so commits are lost; or the note itself is a copy,
  which its inode shows, so a whole directory was restored. This is a loss for every layout.
- *place*: another boot, inode, device or change time of the main file. A directory that was
  restored with its note shows in the change time, which no program can set. The change time also
  changes with the file's mode, so layouts with time wait once, and counters, which cannot wait,
  ignore it. A commit lost in a power cut shows in the boot; counters ignore this sign too, because
  their commits are synced (``durable``).

Revisions have 31 bits and are compared by distance. After each sign they jump by a random distance,
so that no revision is used for two different contents.
"""

import os
from binascii import crc32
from pathlib import Path
from typing import NamedTuple

from frazil.errors import ConfigError

SECTOR = 512
_HEAD = "frazil-revision 1"
_MODULUS = 1 << 31
_HALF = _MODULUS >> 1
_APART_US = 2_000_000  # how far two clocks drift apart between two steps; a step of one is more


class Found(NamedTuple):
    """The state that a step finds, for the next step to compare.

    flushed, cookie: the revision and the schema cookie in the head of the main file, 0 where there
    is none. boot_us, wall_us: both clocks. device, inode, changed_ns: of the main file. notes: the
    inode of the file with the notes.
    """

    flushed: int
    cookie: int
    boot_us: int
    wall_us: int
    device: int
    inode: int
    changed_ns: int
    notes: int


class Sight(NamedTuple):
    """The state of the file when a step begins.

    logged: whether the main file has a log. known: whether it has frazil's tables. boot: "" where
    no boot id can be read.
    """

    found: Found
    logged: bool
    known: bool
    boot: str


class Note(NamedTuple):
    """A note that a step writes beside the file.

    turn: counts the notes. revision: of the database. durable: the last one that was synced.
    lineage, place: random; a new sign gives a new one. past_boot: the boot before this one.
    pending: whether the commit is still to come.
    """

    turn: int
    revision: int
    durable: int
    lineage: str
    place: str
    boot: str
    past_boot: str
    found: Found
    pending: bool

    @property
    def incarnation(self) -> str:
        """See ``record``: the part before "/" is about the contents."""
        return f"{self.lineage}/{self.boot}:{self.place}"

    def line(self) -> bytes:
        """The text of one sector, with a checksum."""
        values = (*self[:7], *self.found, self.pending)
        told = [value or "-" if isinstance(value, str) else str(int(value)) for value in values]
        body = " ".join([_HEAD, *told])
        return f"{body} {crc32(body.encode()):08x}\n".encode().ljust(SECTOR, b"\0")

    @classmethod
    def read(cls, sector: bytes) -> "Note | None":
        """Parse a sector; None if it is not a valid note."""
        body, _, check = sector.rstrip(b"\0\n").rpartition(b" ")
        if not body.startswith(_HEAD.encode()) or check != b"%08x" % crc32(body):
            return None
        told = ["" if text == "-" else text for text in body.decode().split(" ")[2:]]
        *marks, pending = map(int, told[7:])
        return cls._make([*map(int, told[:3]), *told[3:7], Found(*marks), bool(pending)])


class Notes(NamedTuple):
    """The latest note, and the settled one before it if the latest is pending."""

    latest: Note | None
    before: Note | None

    @classmethod
    def read(cls, sectors: bytes) -> "Notes":
        """Parse the notes in two sectors."""
        found = [Note.read(sectors[at : at + SECTOR]) for at in (0, SECTOR)]
        notes = sorted((note for note in found if note), key=lambda note: note.turn)
        if not notes:
            return cls(None, None)
        return cls(notes[-1], notes[0] if len(notes) > 1 and notes[1].pending else None)


def log_fits(notes: Notes, sight: Sight) -> bool:
    """Whether the log beside the main file belongs to it; True if there is no note."""
    latest = notes.latest
    if latest is None:
        return True
    if _boot(latest, sight) != latest.boot:  # notes are not synced: there may have been later ones
        return sight.logged and _ahead(sight.found.flushed, latest.found.flushed)
    alike = sight.logged and sight.found.cookie == latest.found.cookie
    return alike and _between(latest.found.flushed, sight.found.flushed, latest.revision)


def coming(path: Path, notes: Notes, sight: Sight, revision: int) -> tuple[Note, bool]:
    """The pending note of the step that is about to commit, and whether its signs are new.

    revision: of the database, as SQLite reads it. Raises ConfigError where two hosts use the file.
    """
    latest, before = notes
    if latest is None:
        fresh = Note(0, 0, 0, "", "", "", "", sight.found, pending=False)
        return _with_signs(fresh, sight, sight.boot or "?" + _drawn(), revision, lost=True), True
    boot = _boot(latest, sight)
    if boot == latest.past_boot != latest.boot and not latest.boot.startswith("?"):
        raise ConfigError(
            f"{path} is used under two boot ids alternately, so by two hosts or a sandbox with its "
            "own kernel, between which file locks may not work; keep the claims on a server: set "
            "FRAZIL_URL to redis://, postgresql:// or etcd://",
            boots=(boot, latest.boot),
        )
    match = next((n for n in (latest, before) if n and n.revision == revision), None)
    base = match or latest  # a pending note without a commit is replaced
    own = latest.found.notes == sight.found.notes
    if boot == latest.boot:
        whole = own and match is not None
        if whole and _file(sight.found) == _file(base.found):
            return _noted(base, sight, revision=base.revision + 1), False
    else:
        whole = own and _ahead(revision, latest.durable)
    return _with_signs(base, sight, boot, revision, lost=not whole), True


def stepped_us(notes: Notes, sight: Sight) -> int:
    """How much more time has passed by the wall clock since the last step than by the boot clock.

    0 if that was in another boot.
    """
    latest = notes.latest
    if latest is None or not sight.boot or sight.boot != latest.boot:
        return 0
    before, now = latest.found, sight.found
    return now.wall_us - before.wall_us - (now.boot_us - before.boot_us)


def _with_signs(base: Note, sight: Sight, boot: str, revision: int, *, lost: bool) -> Note:
    furthest = base.revision if _ahead(base.revision, revision) else revision
    jump = 256 + int.from_bytes(os.urandom(2), "big")
    past = base.boot if boot != base.boot else base.past_boot
    note = base._replace(place=_drawn(), boot=boot, past_boot=past)
    if lost:
        note = note._replace(lineage=_drawn())
    return _noted(note, sight, revision=furthest + jump)


def _noted(base: Note, sight: Sight, *, revision: int) -> Note:
    return base._replace(
        turn=base.turn + 1, revision=revision % _MODULUS or 1, pending=True, found=sight.found
    )


def _file(found: Found) -> tuple[int, int, int]:
    """The identity of a main file."""
    return found.device, found.inode, found.changed_ns


def _boot(latest: Note, sight: Sight) -> str:
    """The current boot. A process that cannot read the boot id uses the noted one.

    Without an id a restart shows in the clocks: the time since boot went back, or it advanced by
    another amount than the wall clock.
    """
    if not sight.boot:
        passed_us = sight.found.boot_us - latest.found.boot_us
        apart_us = abs(sight.found.wall_us - latest.found.wall_us - passed_us)
        return latest.boot if passed_us >= 0 and apart_us < _APART_US else "?" + _drawn()
    return sight.boot


def _ahead(later: int, earlier: int) -> bool:
    """Whether one revision is the other one or after it."""
    return (later - earlier) % _MODULUS < _HALF


def _between(first: int, middle: int, last: int) -> bool:
    return (middle - first) % _MODULUS <= (last - first) % _MODULUS


def _drawn() -> str:
    return os.urandom(8).hex()
