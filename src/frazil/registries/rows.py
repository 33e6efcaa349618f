"""The slots of a record as rows of an SQLite table, and the tables themselves.

The verbs ask for "the free slot with the greatest floor" and "the slot with the least floor". A
layout may have a million slots, of which most were never touched and have no row, so both are
questions to an index, and an untouched slot is found as a gap in the numbers.
"""

import sqlite3
from collections.abc import Iterator

from frazil.record import UNTOUCHED, Slot

__all__ = ["SCHEMA_VERSION", "SqlSlots", "lay_out"]

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x66727A6C  # "frzl"
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


def lay_out(db: sqlite3.Connection) -> None:
    """Make the tables, once, also when many processes come at the same time."""
    db.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    db.execute("COMMIT")
