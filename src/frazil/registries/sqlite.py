"""``sqlite:``: claims of all processes on one host, in one file. The default registry.

Nothing needs to run or be installed, and SQLite's transactions are real: a verb is one ``BEGIN
IMMEDIATE`` whose effect is on the disk (``synchronous=EXTRA`` with a rollback journal) before its
answer is used. A generator needs about two such steps a second, so each opens the file anew. Then
no connection, and no POSIX lock, is ever carried across a fork.

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
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from frazil.claim import Terms
from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.record import UNTOUCHED, Record, Slot
from frazil.registries.base import Options, RecordRegistry, terms_of
from frazil.schemes import Scheme

__all__ = ["SqlSlots", "SqliteRegistry", "default_path", "filesystem_of", "state_home"]

HORIZON_US = 1_000_000
BUSY_US = 10_000_000
SCHEMA_VERSION = 1
_APPLICATION_ID = 0x66727A6C  # "frzl"
_NETWORK_FILESYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs", "gfs2"}
    | {"glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb2", "smb3", "smbfs"}
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace (
    name TEXT PRIMARY KEY, sid TEXT, incarnation TEXT, fingerprint TEXT, layout TEXT,
    revision INTEGER, guard INTEGER, last_us INTEGER, offset_us INTEGER, top_us INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS slot (
    namespace TEXT, n INTEGER, until INTEGER, start INTEGER, token TEXT, holder TEXT,
    since_us INTEGER, PRIMARY KEY (namespace, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS slot_until ON slot (namespace, until, n);
"""
_HEAD = ["sid", "incarnation", "fingerprint", "layout", "revision", "guard"]
_HEAD += ["last_us", "offset_us", "top_us"]
_COLUMNS = ", ".join(_HEAD)


def state_home() -> Path:
    """Where this user's programs keep state, by the platform's convention."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = Path(os.environ.get("XDG_STATE_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "state"


def default_path() -> Path:
    """The file of the default registry."""
    return state_home() / "frazil" / "claims.db"


def filesystem_of(path: Path, mountinfo: str = "/proc/self/mountinfo") -> str | None:
    """The type of the file system that holds ``path`` (``ext4``); None where nobody tells.

    Format: proc(5), /proc/pid/mountinfo; the longest mount point that leads to the path counts,
    and of equal ones the last, which covers the others.
    """
    try:
        lines = Path(mountinfo).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].encode().decode("unicode_escape")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), after.split(" ")[0]
    return kind


class SqlSlots:
    """The slots of a namespace as rows; see ``record.Slots`` for what each method means."""

    def __init__(self, db: sqlite3.Connection, namespace: str) -> None:
        self._db = db
        self._name = namespace

    def _one(self, sql: str, *values: object) -> tuple[int, ...] | None:
        row: tuple[int, ...] | None = self._db.execute(sql, (self._name, *values)).fetchone()
        return row

    def get(self, n: int) -> Slot:
        """Slot number n."""
        row = self._db.execute(
            "SELECT until, start, token, holder, since_us FROM slot WHERE namespace=? AND n=?",
            (self._name, n),
        ).fetchone()
        return Slot(*row) if row else UNTOUCHED

    def put(self, n: int, slot: Slot) -> None:
        """Store slot number n."""
        self._db.execute(
            "INSERT OR REPLACE INTO slot VALUES (?,?,?,?,?,?,?)",
            (self._name, n, slot.until, slot.start, slot.token, slot.holder, slot.since_us),
        )

    def _lowest(self, guard: int, among: range, *, held_after: int | None) -> int | None:
        """The lowest slot whose floor is the guard; with ``held_after`` none held beyond it."""
        low, high = among.start, among.stop - 1
        taken = "until>:guard"
        if held_after is not None:
            taken = "(until>:guard OR (token!='' AND until>:now))"
        sql = f"""
            WITH taken AS (SELECT n FROM slot WHERE namespace=:name AND {taken}
                           AND n BETWEEN :low AND :high),
                 free AS (SELECT :low AS n UNION ALL SELECT n+1 FROM taken WHERE n < :high)
            SELECT min(n) FROM free WHERE n NOT IN (SELECT n FROM taken)"""  # noqa: S608
        values = {"name": self._name, "guard": guard, "now": held_after, "low": low, "high": high}
        row = self._db.execute(sql, values).fetchone()
        found: int | None = row[0]
        return found

    def fit(self, now: int, guard: int, among: range) -> int | None:
        """Of the slots with floor <= now that with the greatest floor, the lowest on a tie."""
        if guard > now:
            return None
        row = self._one(
            "SELECT n FROM slot WHERE namespace=? AND until>? AND until<=? AND n BETWEEN ? AND ?"
            " ORDER BY until DESC, n LIMIT 1",
            *(guard, now, among.start, among.stop - 1),
        )
        return row[0] if row else self._lowest(guard, among, held_after=None)

    def least(self, now: int, guard: int, among: range) -> int:
        """The slot with the least floor; on a tie one that is not held, then the lowest."""
        for held_after in (now, None):
            n = self._lowest(guard, among, held_after=held_after)
            if n is not None:
                return n
        row = self._one(
            "SELECT n FROM slot WHERE namespace=? AND n BETWEEN ? AND ?"
            " ORDER BY until, token!='' AND until>?, n LIMIT 1",
            *(among.start, among.stop - 1, now),
        )
        assert row is not None  # every slot has until > guard, so every one has a row
        return row[0]

    def void(self) -> None:
        """Take every token away."""
        self._db.execute(
            "UPDATE slot SET token='', holder='', since_us=0 WHERE namespace=? AND token!=''",
            (self._name,),
        )

    def touched(self) -> Iterator[tuple[int, Slot]]:
        """All slots ever put, by number."""
        rows = self._db.execute(
            "SELECT n, until, start, token, holder, since_us FROM slot WHERE namespace=?"
            " ORDER BY n",
            (self._name,),
        )
        return ((n, Slot(*rest)) for n, *rest in rows)


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
        with _explained(self.path, self.advice):
            db, where = self._open()
            with contextlib.closing(db):
                db.execute("BEGIN IMMEDIATE")
                record = self._load(db)
                yield record, f"{where}/{_boot_id()}"
                self._store(db, record)
                db.execute("COMMIT")
            if _place(self.path) != where:
                raise RegistryUnavailable(
                    f"{self.path} was replaced while it was in use; try again",
                    url=self.url,
                    outcome_known=False,
                )

    def _open(self) -> tuple[sqlite3.Connection, str]:
        """A connection, and which file it is to."""
        if not self._local:
            self._settle()
        if not self.path.exists():
            self.path.touch()
        where = _place(self.path)
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
                _lay_out(db)
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
        if kind in _NETWORK_FILESYSTEMS:
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
        sql = f"INSERT OR REPLACE INTO namespace (name, {_COLUMNS}) VALUES (?, {marks})"  # noqa: S608
        db.execute(sql, (self.namespace, *values))


def _lay_out(db: sqlite3.Connection) -> None:
    """Make the tables, once, also when many processes come at the same time."""
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    db.execute("COMMIT")


def _place(path: Path) -> str:
    """Which file a path leads to."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ""
    return f"{found.st_dev:x}:{found.st_ino:x}"


def _boot_id() -> str:
    """A text that changes when the host restarts; "" where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


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
