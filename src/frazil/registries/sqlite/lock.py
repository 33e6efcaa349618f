"""The lock on a file of claims, and the notes beside it: ``<file>-revision``.

SQLite's own locks belong to a process. They end as soon as any part of the program, such as a
backup thread, opens and closes the database, and in a child that was forked during a step they stay
locked forever. An ``flock`` belongs to an open file: closing another one does not end it, and it is
not counted in memory. The locked file also holds the notes of ``revision``; no other program opens
it.

The kernel releases a lock when its holder ends, but not while the holder is stopped. So the holder
writes its process number beside the notes, and the error of a process that waited too long names
it.
"""

import fcntl
import os
import re
import time
from io import FileIO
from pathlib import Path

from frazil.errors import RegistryUnavailable
from frazil.registries.sqlite import forks
from frazil.registries.sqlite.files import leads_to, sync_folder
from frazil.registries.sqlite.revision import SECTOR, Note, Notes
from frazil.system.chance import jitter
from frazil.system.clock import boot_s, moment_text, wall_us

_HOLDER_AT, _HOLDER_BYTES = 2 * SECTOR, 64
_FIRST_NAP_S, _LAST_NAP_S = 0.0002, 0.05


class RevisionFile:
    """The lock, while it is held. ``notes``: as read from the file; ``inode``: of the file."""

    def __init__(self, path: Path, busy_s: float) -> None:
        """Wait for the lock. Raises RegistryUnavailable, naming the holder, after ``busy_s``."""
        self.path = Path(f"{path}-revision")
        self._file = _opened(self.path, path)
        try:
            self._wait(path, busy_s)
        except BaseException:
            forks.closed(self._file)
            raise
        said = b"process %d since %d us" % (os.getpid(), wall_us())
        os.pwrite(self._file.fileno(), said.ljust(_HOLDER_BYTES, b"\0"), _HOLDER_AT)
        self.notes = Notes.read(os.pread(self._file.fileno(), _HOLDER_AT, 0))
        self.inode = os.fstat(self._file.fileno()).st_ino

    def _wait(self, path: Path, busy_s: float) -> None:
        began = boot_s()
        nap_s = _FIRST_NAP_S
        while not self._taken():
            waited_s = boot_s() - began
            if waited_s > busy_s:
                raise RegistryUnavailable(
                    f"{path} was busy for {busy_s:g} s: {self._holder()}; try again, or resume "
                    "or end that process",
                    url=str(path),
                    outcome_known=True,
                )
            shorter = 1 + waited_s**2  # long waiters retry more often, so that none starves
            time.sleep(nap_s / shorter * jitter())
            nap_s = min(1.5 * nap_s, _LAST_NAP_S)
            if not leads_to(self.path, self._file.fileno()):
                forks.closed(self._file)
                self._file = _opened(self.path, path)

    def write(self, note: Note, *, synced: bool = False) -> None:
        """Write a note over the older of the two."""
        os.pwrite(self._file.fileno(), note.line(), note.turn % 2 * SECTOR)
        if synced:
            os.fdatasync(self._file.fileno())

    def close(self) -> None:
        """Release the lock, even if a child has a copy of the open file."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        forks.closed(self._file)

    def drop(self) -> None:
        """In a forked child: close its copy. The parent keeps the lock."""
        forks.closed(self._file)

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if leads_to(self.path, self._file.fileno()):
            return True
        fcntl.flock(self._file, fcntl.LOCK_UN)  # the file was deleted meanwhile
        return False

    def _holder(self) -> str:
        said = os.pread(self._file.fileno(), _HOLDER_BYTES, _HOLDER_AT)
        found = re.match(rb"process ([0-9]+) since ([0-9]+) us", said)
        if not found:
            return "another process holds it"
        number, since_us = map(int, found.groups())
        return f"process {number} has held it since {moment_text(since_us)}{_stopped(number)}"


def _stopped(process: int) -> str:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return ", and is stopped" if state.rpartition(")")[2].split()[:1] in (["T"], ["t"]) else ""


def _opened(path: Path, main: Path) -> FileIO:
    """Open the file, or create it with the owner and permissions of the main file."""
    file = forks.opened(path, os.O_CREAT, 0o600)
    if os.fstat(file.fileno()).st_size:
        return file
    try:
        like = main.stat()
        if os.geteuid() == 0:
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
        os.fchmod(file.fileno(), like.st_mode & 0o777)
        os.pwrite(file.fileno(), bytes(_HOLDER_AT + _HOLDER_BYTES), 0)
        os.fsync(file.fileno())
        sync_folder(path.parent)
    except BaseException:
        forks.closed(file)
        raise
    return file
