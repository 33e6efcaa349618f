"""An SQLite file as a store that a run creates: it can be deleted and restored.

An operator restores a copy of such a file by copying it over, by removing the file first, by moving
the copy into its place, or with SQLite's commands. SQLite's files beside it (a journal, a log) may
be removed or not. Files of other programs beside it remain.
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = ["WAYS", "File"]

WAYS = ("over", "unlinked", "moved", "restored", "vacuumed")
"""The ways to restore a copy: into the same file; into a new one of the same name; itself, in its
place; by SQLite's ``.restore``; by its ``VACUUM INTO``, in a new file."""

_BUSY_S = 10.0
_BESIDE = ("-journal", "-wal", "-shm")


class File:
    """An SQLite file. It has no process to kill."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "claims.db"
        self.url = f"sqlite:{self._path}"

    def holds(self) -> bool:
        """See Store."""
        return self._path.exists() and self._path.stat().st_size > 0

    def wipe(self) -> bool:
        """Delete it. Returns whether it existed."""
        was_there = self._path.exists()
        for path in self._path.parent.glob(f"{self._path.name}*"):
            path.unlink(missing_ok=True)
        return was_there

    def save(self, copy: Path, *, plain: bool) -> bool:
        """Copy the file while no process writes: as a file, or with SQLite's ``.backup``.

        Returns False if it stayed locked.
        """
        with contextlib.suppress(sqlite3.OperationalError), self._opened() as live:
            if plain:
                live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                live.execute("BEGIN EXCLUSIVE")
                shutil.copyfile(self._path, copy)
                live.execute("ROLLBACK")
            else:
                with closing(sqlite3.connect(copy)) as new:
                    live.backup(new)
            return True
        return False

    def put_back(self, copy: Path, way: str, *, tidy: bool) -> bool:
        """Restore a copy in one of the ways. tidy: remove SQLite's files beside it.

        Returns False if the file stayed locked.
        """
        if way == "restored":
            with contextlib.suppress(sqlite3.OperationalError), self._opened() as live:
                with closing(sqlite3.connect(copy)) as old:
                    old.backup(live)
                return True
            return False
        if tidy:
            self._remove_beside()
        if way == "over":
            shutil.copyfile(copy, self._path)
        elif way == "unlinked":
            self._path.unlink(missing_ok=True)
            shutil.copyfile(copy, self._path)
        elif way == "moved":
            moved = copy.with_suffix(".moved")
            shutil.copyfile(copy, moved)
            moved.replace(self._path)
        else:
            self._path.unlink(missing_ok=True)
            with closing(sqlite3.connect(copy)) as old, contextlib.suppress(sqlite3.Error):
                old.execute(
                    "VACUUM INTO ?", (str(self._path),)
                )  # or another process created it first
        return True

    def sound(self) -> bool:
        """Whether SQLite can read it: a copy over a file in use may damage it."""
        try:
            with self._opened() as live:
                return bool(live.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite3.OperationalError:
            return True  # busy, or about to be created
        except sqlite3.DatabaseError:
            return False

    def move_away(self) -> None:
        """Follow the advice of the error for a damaged file."""
        self._remove_beside()
        with contextlib.suppress(FileNotFoundError):
            self._path.rename(self._path.with_suffix(".damaged"))

    def close(self) -> None:
        """Nothing: its directory is removed."""

    def _remove_beside(self) -> None:
        for end in _BESIDE:
            Path(f"{self._path}{end}").unlink(missing_ok=True)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)) as live:
            yield live
