"""Which content of a file is the latest: what the file itself cannot say.

A file of claims that was put back as it was an hour ago looks right in every way. Its inode may
even be the same: ``cp`` writes into the old one, and a file system gives a freed number out again.
So the latest revision is written down *beside* the file, in ``<file>-revision``, at every step.
Who puts the database back does not put this back, and the two no longer agree.

The database carries its revision as SQLite's ``user_version``, which lies in the first page. So
two things can be compared: the revision as SQLite reads it, with the write-ahead log applied, and
the one in the head of the main file, which changes at a checkpoint only (``flushed``). The second
one matters because SQLite lays whatever log it finds over whatever file it finds: an older file
under a newer log would give a mixture that looks like the newest state. A log fits a main file of
the same page layout (the schema cookie, which VACUUM changes) that is no older than the log's
first commit and no newer than its last. A log that does not fit is removed before SQLite sees it.

**A step is written down twice**: as *pending* before the commit, as *settled* after it and before
the answer is used. If the process dies in between, the answer was used by nobody, and both states
are right: the one before and the one after. The two notes lie in two sectors and are written in
turn, so a torn one does not take the other with it.

Two kinds of signs follow, and each is one part of the incarnation:

- *lineage*: the contents differ from the note, so commits are lost; or the note itself is a copy,
  which its inode tells, so a folder was put back as a whole. Nobody can go on as before.
- *place*: another boot, inode, device or change time of the main file. A whole directory that was
  put back, note and all, shows in the change time, which no program can set. It also changes when
  somebody changes the file's mode, so layouts with time wait once, and counters, which have
  nothing to wait for, do not take it for a loss. A commit that a power cut has lost shows in the
  boot; counters do without this sign because their commits are synced (``durable``).

Revisions are 31 bits and compared by their distance. After each such sign they jump ahead by a
random distance, so that no revision is used twice for two different contents.
"""

import os
from binascii import crc32
from pathlib import Path
from typing import NamedTuple

from frazil.errors import ConfigError

__all__ = ["SECTOR", "Found", "Note", "Notes", "Sight", "coming", "log_fits"]

SECTOR = 512
_HEAD = "frazil-revision 1"
_MODULUS = 1 << 31
_HALF = _MODULUS >> 1
_APART_US = 2_000_000  # how far two clocks drift apart between two steps; a step of one is more


class Found(NamedTuple):
    """What one step finds, and the next one compares.

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
    """What there is when a step begins.

    logged: whether the main file has a log. known: whether it has frazil's tables. boot: "" where
    no boot id can be read.
    """

    found: Found
    logged: bool
    known: bool
    boot: str


class Note(NamedTuple):
    """What is written down at a step.

    turn: counts the notes. revision: of the database. durable: the last one that was synced.
    lineage, place: random, each given anew with its sign. past_boot: the boot before this one.
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
        """As text of one sector, with a check sum."""
        values = (*self[:7], *self.found, self.pending)
        told = [value or "-" if isinstance(value, str) else str(int(value)) for value in values]
        body = " ".join([_HEAD, *told])
        return f"{body} {crc32(body.encode()):08x}\n".encode().ljust(SECTOR, b"\0")

    @classmethod
    def read(cls, sector: bytes) -> "Note | None":
        """From its text; None for what is none."""
        body, _, check = sector.rstrip(b"\0\n").rpartition(b" ")
        if not body.startswith(_HEAD.encode()) or check != b"%08x" % crc32(body):
            return None
        told = ["" if text == "-" else text for text in body.decode().split(" ")[2:]]
        turn, revision, durable = map(int, told[:3])
        lineage, place, boot, past_boot = told[3:7]
        *marks, pending = map(int, told[7:])
        found = Found(*marks)
        signs = (lineage, place, boot, past_boot)
        return cls(turn, revision, durable, *signs, found, pending=bool(pending))


class Notes(NamedTuple):
    """The latest note, and the settled one before it if the latest is pending."""

    latest: Note | None
    before: Note | None

    @classmethod
    def read(cls, sectors: bytes) -> "Notes":
        """From two sectors."""
        found = [Note.read(sectors[at : at + SECTOR]) for at in (0, SECTOR)]
        notes = sorted((note for note in found if note), key=lambda note: note.turn)
        if not notes:
            return cls(None, None)
        return cls(notes[-1], notes[0] if len(notes) > 1 and notes[1].pending else None)


def log_fits(notes: Notes, sight: Sight) -> bool:
    """Whether a log beside the main file was written for it; True where nothing is known."""
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
            f"{path} is used under two boot ids in turn, so by two hosts or by a sandbox with a "
            "kernel of its own, between which file locks need not hold; keep the claims on a "
            "server: set FRAZIL_URL to redis://, postgresql:// or etcd://",
            boots=(boot, latest.boot),
        )
    match = next((n for n in (latest, before) if n and n.revision == revision), None)
    base = match or latest  # a pending note that came to nothing is written over
    own = latest.found.notes == sight.found.notes
    if boot == latest.boot:
        whole = own and match is not None
        if whole and _file(sight.found) == _file(base.found):
            return _noted(base, sight, revision=base.revision + 1), False
    else:
        whole = own and _ahead(revision, latest.durable)
    return _with_signs(base, sight, boot, revision, lost=not whole), True


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
        turn=base.turn + 1,
        revision=revision % _MODULUS or 1,
        pending=True,
        found=sight.found,
    )


def _file(found: Found) -> tuple[int, int, int]:
    """By which a main file is told from any other."""
    return found.device, found.inode, found.changed_ns


def _boot(latest: Note, sight: Sight) -> str:
    """Which boot this is. A process that may not read the boot id takes the one noted.

    Without an id two things tell a restart: the clock since boot went back, or it went on by
    another time than the wall clock did.
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
