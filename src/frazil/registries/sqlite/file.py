"""One step on a file of claims: lock it, check it, change it, commit.

SQLite makes a step atomic, even across a crash. This module adds:

- *One step at a time.* The lock of ``lock`` survives forks and other users of the database in the
  same program.
- *No synchronous writes.* The journal is a write-ahead log, and commits of layouts with time are
  not synced. A power cut may lose the last commits, but never a part of one; the boot id shows it
  (see ``revision``). Counters have no other sign of a loss, so their commits are synced.
- *The log outlives its connection.* The last connection to close would copy the log into the file,
  with four synced writes. A shared lock on the file prevents this; the log is copied when it is
  long. Each step opens the file again, so that no state of SQLite crosses a fork.
- *The right file.* ``revision`` detects a restored file.
- *The right process.* A child that was forked during its parent's step does not touch that step:
  it has a copy, and the parent continues.
"""

import fcntl
import os
import sqlite3
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from io import FileIO
from math import inf
from pathlib import Path
from urllib.parse import quote

from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries.sqlite import forks
from frazil.registries.sqlite.files import boot_id, leads_to
from frazil.registries.sqlite.lock import RevisionFile
from frazil.registries.sqlite.revision import Found, Note, Sight, coming, log_fits, stepped_us
from frazil.registries.sqlite.slots import APPLICATION_ID, lay_out
from frazil.system import clock, fork_gate
from frazil.system.process import ProcessIdentity

_LONG_LOG_BYTES = 128 * 1024  # about 25 steps; each step reads the log
_NAP_S = 0.0005
_READERS_MS = 20  # how long to wait for another program's reader before the log is copied
_HEAD_BYTES = 100  # the header of a database: SQLite's file format, 1.3
_VERSIONS, _COOKIE = slice(18, 20), slice(40, 44)
_REVISION, _APPLICATION = slice(60, 64), slice(68, 72)
_SHARED_AT, _SHARED_BYTES = 0x40000002, 510  # where SQLite's shared locks lie (os.h of SQLite)
_FLOCK = "hhqqi4x"  # struct flock: type, whence, start, length, process


class ClaimsFile:
    """A file at an absolute path, and how long to wait for it.

    stepped_us: how far the wall clock stepped forward, since this boot's last step by any process.
    """

    def __init__(self, path: Path, busy_s: float) -> None:
        self.path = path
        # Path.as_uri() loads an HTTP client, from Python 3.14 on.
        self._uri = f"file://{quote(os.fsencode(path))}?mode=rw"
        self._journal, self._log, self._index = (
            path.with_name(path.name + ending) for ending in ("-journal", "-wal", "-shm")
        )
        self._busy_s = busy_s
        self.stepped_us = 0

    @contextmanager
    def step(self, *, synced: bool) -> Iterator[tuple[sqlite3.Connection, str]]:
        """A connection inside a transaction, and the incarnation; commits when the block ends.

        If the block raises, nothing is saved. synced: whether the commit must survive a power cut.
        """
        identity, pid = ProcessIdentity(), os.getpid()
        main, lock = self._entered()
        try:
            self._roll_back()
            sight = _sight(main, lock.inode)
            self.stepped_us = stepped_us(lock.notes, sight)
            if not log_fits(lock.notes, sight):  # applied to this file it would corrupt it
                self._log.unlink(missing_ok=True)
                self._index.unlink(missing_ok=True)
            db = self._connect(main, sight, synced=synced)
            try:
                revision = db.execute("PRAGMA user_version").fetchone()[0]
                note, anew = coming(self.path, lock.notes, sight, revision)
                yield db, note.incarnation
                if not identity.intact():
                    raise RegistryUnavailable(
                        "this process was forked during a step, which its parent completes, or its "
                        "machine was restored; try again",
                        outcome_known=True,
                    )
                self._commit(db, main, lock, note, synced=synced, anew=anew)
            finally:
                if _is_copy(identity, pid):
                    forks.abandoned.append((db, main))
                else:
                    db.close()
        finally:
            fork_gate.leave()
            if _is_copy(identity, pid):
                lock.drop()
            else:
                lock.close()
                forks.closed(main)

    def _entered(self) -> tuple[FileIO, RevisionFile]:
        """Both files, locked, while no thread is about to fork.

        The lock is released while this waits for a fork, because at-fork hooks may take long.
        """
        until_s = inf
        while True:
            main, lock = self._locked()
            if forks.enter(until_s):
                return main, lock
            lock.close()
            forks.closed(main)
            until_s = min(until_s, clock.boot_s() + fork_gate.PATIENCE_S)
            time.sleep(_NAP_S)

    def _locked(self) -> tuple[FileIO, RevisionFile]:
        main = self._main()
        try:
            links = os.fstat(main.fileno()).st_nlink
            if links > 1:
                raise ConfigError(
                    f"{self.path} has {links} names (hard links), and SQLite would keep a separate "
                    "log for each; remove the other names",
                    links=links,
                )
            return main, RevisionFile(self.path, self._busy_s)
        except BaseException:
            forks.closed(main)
            raise

    def _main(self) -> FileIO:
        """Open the main file; create it if it is missing."""
        try:
            return forks.opened(self.path, 0)
        except FileNotFoundError:
            new = forks.opened(self.path, os.O_CREAT, 0o666)
        if _is_shared(self.path.parent):
            with suppress(PermissionError):  # another user has just created it, and does this
                os.fchmod(new.fileno(), os.fstat(new.fileno()).st_mode & 0o777 | 0o660)
        return new

    def _roll_back(self) -> None:
        """Let SQLite roll back if a process was killed while it created the tables.

        Before that the header of the file is not valid. A rollback needs an exclusive lock, so it
        comes before the shared lock.
        """
        if self._journal.exists():
            with closing(self._opened()) as db:
                db.execute("PRAGMA schema_version").fetchone()

    def _opened(self) -> sqlite3.Connection:
        cut = fork_gate.cut()
        db = sqlite3.connect(
            self._uri + ("&vfs=unix-none" if cut else ""),
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        if cut:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")
        return db

    def _connect(self, main: FileIO, sight: Sight, *, synced: bool) -> sqlite3.Connection:
        """A connection inside a transaction."""
        db = self._opened()
        try:
            if not sight.known:
                lay_out(db, self.path)
            if fork_gate.cut() or not sight.logged:
                mode = db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
                if mode != "wal":
                    raise RegistryUnavailable(
                        f"{self.path} cannot use a write-ahead log; close other programs that use "
                        "it",
                        outcome_known=True,
                    )
            _share(main)
            db.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
            db.execute("BEGIN IMMEDIATE")
        except BaseException:
            db.close()
            raise
        return db

    def _commit(
        self,
        db: sqlite3.Connection,
        main: FileIO,
        lock: RevisionFile,
        note: Note,
        *,
        synced: bool,
        anew: bool,
    ) -> None:
        """Write a note, commit, write a note. With new signs also copy the log into the file."""
        db.execute(f"PRAGMA user_version={note.revision}")
        lock.write(note)
        db.execute("COMMIT")
        if anew or fork_gate.cut() or self._log.stat().st_size > _LONG_LOG_BYTES:
            db.execute(f"PRAGMA busy_timeout={_READERS_MS}")
            with suppress(sqlite3.OperationalError):  # the next step tries again
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        flushed, cookie, _, _ = _head(main)
        changed_ns = _changed_ns(os.fstat(main.fileno()))
        settled = note._replace(
            turn=note.turn + 1,
            durable=note.revision if synced else note.durable,
            pending=False,
            found=note.found._replace(flushed=flushed, cookie=cookie, changed_ns=changed_ns),
        )
        lock.write(settled, synced=anew)
        if not leads_to(self.path, main.fileno()):
            raise RegistryUnavailable(
                f"{self.path} was replaced during a step; try again", outcome_known=False
            )


def _is_copy(identity: ProcessIdentity, pid: int) -> bool:
    """Whether a fork made this process since then. A restore of the machine alone made none."""
    restored = ProcessIdentity().vm_seen != identity.vm_seen
    return not identity.intact() and not (restored and os.getpid() == pid)


def _is_shared(folder: Path) -> bool:
    """Whether a directory belongs to a group, whose members may write the files in it."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_ISGID and mode & stat.S_IWGRP)


def _head(main: FileIO) -> tuple[int, int, bool, bool]:
    """The header of the main file: flushed, cookie, logged, known (see ``Sight``)."""
    head = os.pread(main.fileno(), _HEAD_BYTES, 0).ljust(_HEAD_BYTES, b"\0")
    flushed = int.from_bytes(head[_REVISION], "big") & 0x7FFFFFFF
    known = int.from_bytes(head[_APPLICATION], "big") == APPLICATION_ID
    return flushed, int.from_bytes(head[_COOKIE], "big"), head[_VERSIONS] == b"\2\2", known


def _changed_ns(found: os.stat_result) -> int:
    """The time of the last change of the main file; no program can set it."""
    return found.st_ctime_ns


def _sight(main: FileIO, notes: int) -> Sight:
    flushed, cookie, logged, known = _head(main)
    file = os.fstat(main.fileno())
    found = Found(
        flushed=flushed,
        cookie=cookie,
        boot_us=clock.boot_ns() // 1000,
        wall_us=clock.wall_us(),
        device=file.st_dev,
        inode=file.st_ino,
        changed_ns=_changed_ns(file),
        notes=notes,
    )
    return Sight(found, logged, known, boot_id())


def _share(main: FileIO) -> None:
    """Hold a shared lock, as SQLite's readers do, until ``main`` is closed.

    The lock belongs to the open file, so it also blocks this process's own connection, which asks
    for an exclusive lock at its close in order to copy the log. On systems without such locks the
    log is copied each time.
    """
    if hasattr(fcntl, "F_OFD_SETLK"):
        lock = struct.pack(_FLOCK, fcntl.F_RDLCK, os.SEEK_SET, _SHARED_AT, _SHARED_BYTES, 0)
        fcntl.fcntl(main, fcntl.F_OFD_SETLK, lock)
