"""``sqlite:``: claims of all processes on one host, in one file. The default registry.

Nothing needs to run or be installed, and SQLite's transactions are real: a verb is one ``BEGIN
IMMEDIATE`` whose effect is on the disk (``synchronous=EXTRA`` with a rollback journal) before its
answer is used. A generator needs about two such steps a second, so each opens the file anew. Then
no connection, and no POSIX lock, is carried across a fork (``forks`` sees to it).

What a file can do to us, and what is done about it:

- *Deleted or replaced while in use.* Its device and inode, and the boot in which it was written,
  are the incarnation. A verb counts only if the path led to the same file before and after it;
  otherwise what it gave was kept in a file that nobody else will see, and it is asked again.
- *Put back as it was some time ago* (same inode). Members remember the revision.
- *On a network file system*, where locks are promises at best: refused (Linux; elsewhere the
  operating system does not say, and it is up to you).
- *Not writable, full, damaged.* Errors that say which and what to do; nothing was given.

Two users who share a file need write permission on it and on its directory (a common group).
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from frazil.claim import Look, Terms
from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.record import Record
from frazil.registries import forks
from frazil.registries.base import RecordRegistry, terms_of
from frazil.registries.checkup import Checkup
from frazil.registries.options import Options
from frazil.registries.place import (
    NETWORK_FILESYSTEMS,
    boot_id,
    file_id,
    filesystem_of,
    state_home,
)
from frazil.registries.rows import SCHEMA_VERSION, SqlSlots, lay_out
from frazil.schemes import Scheme

__all__ = ["SqliteRegistry", "default_path"]

HORIZON_US = 1_000_000
BUSY_US = 10_000_000
_HEAD = ["sid", "incarnation", "fingerprint", "layout", "revision", "guard"]
_HEAD += ["last_us", "offset_us", "top_us"]
_COLUMNS = ", ".join(_HEAD)


def default_path() -> Path:
    """The file of the default registry."""
    return state_home() / "frazil" / "claims.db"


class SqliteRegistry(RecordRegistry):
    """A registry in a file. Options: ``?horizon=`` (default 1 s), ``?busy=`` (default 10 s)."""

    def __init__(self, url: str, namespace: str, scheme: Scheme) -> None:
        options = Options(url)
        terms = terms_of(scheme, options.duration_us("horizon", HORIZON_US))
        busy_us = options.duration_us("busy", BUSY_US)
        options.finish()
        text = unquote(urlsplit(url).netloc + urlsplit(url).path)
        path = Path(text) if text.strip("/") else default_path()
        self._prepare(url, namespace, terms, path, busy_us)

    def _prepare(self, url: str, namespace: str, terms: Terms, path: Path, busy_us: int) -> None:
        super().__init__(url, namespace, terms)
        self.path = path
        self._busy_s = busy_us / 1e6
        self._local = False

    advice = "or name another file: sqlite:///path/to/claims.db (or set FRAZIL_URL)"

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        """See RecordRegistry."""
        with forks.step(), _explained(self.path, self.advice):
            db, where = self._open()
            with contextlib.closing(db):
                db.execute("BEGIN IMMEDIATE")
                record = self._load(db)
                yield record, f"{where}/{boot_id()}"
                self._store(db, record)
                db.execute("COMMIT")
            if file_id(self.path) != where:
                raise RegistryUnavailable(
                    f"{self.path} was replaced while it was in use; try again",
                    url=self.url,
                    outcome_known=False,
                )

    def look(self) -> Look | None:
        """See Registry. A file that is missing is not made."""
        return super().look() if self.path.exists() else None

    def examine(self) -> Checkup:
        """See Registry."""
        from frazil.registries.sqlite.checkup import examine

        return examine(self.path, self.terms)

    def _open(self) -> tuple[sqlite3.Connection, str]:
        """A connection, and which file it is to."""
        if not self._local:
            self._settle()
        if not self.path.exists():
            self.path.touch()
        where = file_id(self.path)
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_s,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.execute("PRAGMA synchronous=EXTRA")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                lay_out(db)
            elif version != SCHEMA_VERSION:
                raise ConfigError(
                    f"{self.path} was written by another version of frazil (schema {version}, "
                    f"this one knows {SCHEMA_VERSION}); use the newer frazil",
                    url=self.url,
                )
        except BaseException:
            db.close()
            raise
        return db, where

    def _settle(self) -> None:
        """Make the directory; refuse one where locks do not hold."""
        directory = self.path.parent
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        kind = filesystem_of(directory)
        if kind in NETWORK_FILESYSTEMS:
            raise ConfigError(
                f"{self.path} lies on a network file system ({kind}), where file locks do not "
                "hold; put it on a local disk, or use a registry made for several hosts",
                url=self.url,
            )
        self._local = True

    def _load(self, db: sqlite3.Connection) -> Record:
        sql = f"SELECT {_COLUMNS} FROM namespace WHERE name=?"  # noqa: S608 - names of ours
        row = db.execute(sql, (self.namespace,)).fetchone()
        return Record(SqlSlots(db, self.namespace), *(row or ()))

    def _store(self, db: sqlite3.Connection, record: Record) -> None:
        values = [getattr(record, name) for name in _HEAD]
        marks = ", ".join("?" * len(values))
        into = f"INSERT OR REPLACE INTO namespace (name, {_COLUMNS})"
        db.execute(f"{into} VALUES (?, {marks})", (self.namespace, *values))


@contextmanager
def _explained(path: Path, elsewhere: str) -> Iterator[None]:
    """Tell SQLite's and the system's errors in frazil's words."""
    try:
        yield
    except FrazilError:
        raise
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}; make it writable, {elsewhere}", url=str(path)
        ) from error
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise ConfigError(
                f"{path}: {error}; make the file and its directory writable, {elsewhere}",
                url=str(path),
            ) from error
        causes = {
            sqlite3.SQLITE_BUSY: "other processes kept it busy; try again",
            sqlite3.SQLITE_FULL: "the disk is full; make room",
        }
        advice = causes.get(code, "check the disk")
        known = code in causes
        raise RegistryUnavailable(
            f"{path}: {error}; {advice}", url=str(path), outcome_known=known
        ) from error
    except sqlite3.DatabaseError as error:
        raise ConfigError(
            f"{path} is damaged or is no SQLite file ({error}); move it away, and the next start "
            "waits out what it may have given",
            url=str(path),
        ) from error
