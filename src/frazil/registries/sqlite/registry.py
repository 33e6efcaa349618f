"""``sqlite:``: claims of all processes on one host, in one file. The default registry.

It needs no server. A verb is one SQLite transaction under a lock. ``file`` implements the step,
``revision`` detects an older file, and ``lock`` implements the lock.

Failures of a file, and the measures against them:

- *Deleted, replaced, restored to an older state*, with members running or not. The revision in a
  second file beside it shows this, and members remember the revision too.
- *On a network file system*, where locks may not work. A file system that is not known to be local
  is refused. Only Linux reports the type; on other systems this is up to the user.
- *Read-only, full, damaged.* The error names the cause and the next step; nothing was given.

The path is made absolute, and links are resolved, when the registry is created, so a later
``chdir`` has no effect. Users who share a file need write permission on it and on its directory (a
common group).
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from frazil.claims.claim import Claim, Lost, Snapshot, VerbRequest, Wait
from frazil.claims.record import JUMP_US, Record
from frazil.errors import ClockError, ConfigError, FrazilError, RegistryUnavailable
from frazil.inputs.duration import offset_text
from frazil.inputs.url import Options, Url
from frazil.registries.base import RECORD_COLUMNS, Answer, RecordRegistry, terms_of
from frazil.registries.sqlite.default_file import prepare_folder, state_folder
from frazil.registries.sqlite.file import ClaimsFile
from frazil.registries.sqlite.files import require_folder, require_local
from frazil.registries.sqlite.slots import SqlSlots
from frazil.schemes.scheme import Scheme
from frazil.system.event_log import WARNING, tell
from frazil.system.uninterrupted import apart

if TYPE_CHECKING:
    from frazil.registries.doctor import StoreReport

BUSY_US = 10_000_000
_PASSING = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the quota is used up; free some space",
    errno.EIO: "check the disk",
    errno.EMFILE: "this process has too many open files; close some",
    errno.ENFILE: "this host has too many open files; close some",
    errno.EAGAIN: "another program has it locked; try again",
    errno.ENOENT: "it was removed while it was in use; try again",
}
_CAUSES = {  # after these nothing was committed
    sqlite3.SQLITE_BUSY: "other processes kept it busy; try again",
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
}
_COLUMNS = ", ".join(RECORD_COLUMNS)


def default_path() -> Path:
    """The file of the default registry. Raises ConfigError if this user may not use it."""
    return state_folder() / "claims.db"


class SqliteRegistry(RecordRegistry):
    """A registry in a file.

    Options: ``?horizon=`` (default 1 s), ``?busy=`` (default 10 s), ``?local=yes``.
    """

    advice = "or name another file: sqlite:///path/to/claims.db (or set FRAZIL_URL)"

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        horizon_us = options.horizon_us()
        busy_us = options.duration_us("busy", BUSY_US)
        self._is_local = options.yes("local")
        node, path = self._place(url, options)
        options.finish()
        super().__init__(url, namespace, terms_of(scheme, horizon_us, node))
        self.path = Path(os.path.realpath(path))
        self._file = ClaimsFile(self.path, busy_us / 1e6)
        self._settled = False
        self._lasting = False  # whether a step must survive a power cut

    def _place(self, url: Url, _: Options) -> tuple[int | None, Path]:
        """The only node number to grant, if any, and the file."""
        text = unquote(url.netloc + url.path)
        return None, Path(text) if text.strip("/") else default_path()

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        with _explained(self.path, self.advice):
            if not self._settled:
                require_local(self.path, told=self._is_local)
                prepare_folder(self.path.parent)
                require_folder(self.path)
                self._settled = True
            try:
                synced = self._lasting or not self.terms.timed
                with self._file.step(synced=synced) as (db, incarnation):
                    record = self._load(db)
                    yield record, incarnation
                    self._store(db, record)
                    if self.terms.timed and self._file.stepped_us > JUMP_US:
                        self._warn(self._file.stepped_us)
            except FileNotFoundError:
                self._settled = False  # the directory may be gone; the next step looks
                raise

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        return apart(lambda: super(SqliteRegistry, self).perform(verb))

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        """See PastRegistry. A power cut loses no claim, because a person may declare it unused."""
        self._lasting = True
        try:
            return super().claim_past(ask, region)
        finally:
            self._lasting = False

    def look(self) -> Snapshot | None:
        return apart(super().look) if self.path.exists() else None

    def examine(self) -> "StoreReport":
        from frazil.registries.sqlite.doctor import examine

        return examine(self.path, self.terms, told_local=self._is_local)

    def _warn(self, stepped_us: int) -> None:
        """Tell that timestamps follow a step of this host's clock, without another clock."""
        tell(
            WARNING,
            "clock ahead",
            f"clock ahead: namespace {self.namespace!r} at {self.url}: this host's clock stepped "
            f"forward by {offset_text(stepped_us)}, and so do timestamps; see {ClockError.page}",
            namespace=self.namespace,
            store=self.url,
            ahead_s=stepped_us / 1e6,
        )

    def _load(self, db: sqlite3.Connection) -> Record:
        sql = f"SELECT {_COLUMNS} FROM namespace WHERE name=?"  # noqa: S608 - names of ours
        row = db.execute(sql, (self.namespace,)).fetchone()
        return Record(SqlSlots(db, self.namespace), *(row or ()))

    def _store(self, db: sqlite3.Connection, record: Record) -> None:
        values = [getattr(record, name) for name in RECORD_COLUMNS]
        marks = ", ".join("?" * len(values))
        into = f"INSERT OR REPLACE INTO namespace (name, {_COLUMNS})"
        db.execute(f"{into} VALUES (?, {marks})", (self.namespace, *values))


@contextmanager
def _explained(path: Path, elsewhere: str) -> Iterator[None]:
    """Convert errors of SQLite and of the operating system to errors of frazil."""
    try:
        yield
    except FrazilError as error:
        error.facts.setdefault("url", str(path))
        raise
    except OSError as error:
        if error.errno in _PASSING:
            raise RegistryUnavailable(
                f"{path}: {error.strerror}; {_PASSING[error.errno]}",
                url=str(path),
                outcome_known=False,
            ) from error
        raise ConfigError(
            f"{path}: {error.strerror or error}; make it writable, {elsewhere}", url=str(path)
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # an invalid text has none
        if not code or not isinstance(error, sqlite3.OperationalError):
            raise ConfigError(
                f"{path} is damaged or not an SQLite file ({error}); move it away: layouts with "
                "time then wait one horizon, and counters need frazil init --start N",
                url=str(path),
            ) from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise ConfigError(
                f"{path}: {error}; make the file and its directory writable, {elsewhere}",
                url=str(path),
            ) from error
        raise RegistryUnavailable(
            f"{path}: {error}; {_CAUSES.get(code, 'check the disk')}",
            url=str(path),
            outcome_known=code in _CAUSES,
        ) from error
