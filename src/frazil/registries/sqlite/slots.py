"""The slots of a record as rows of an SQLite table, and the tables themselves.

The verbs need "the free slot with the greatest floor" and "the slot with the least floor". A layout
may have a million slots, most of them without a row, so an index answers both, and an untouched
slot is found as a gap in the numbers.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from frazil.claims.slots import UNTOUCHED, Slot, Slots
from frazil.errors import ConfigError
from frazil.system.imports import text_beside

_SCHEMA_VERSION = 2
_FRAZIL = 0x66727A00  # "frz", and the version of the schema
APPLICATION_ID = _FRAZIL | _SCHEMA_VERSION
_SLOT = "until, start, token, holder, since_us"


class SqlSlots(Slots):
    """The slots of a namespace as rows; see ``Slots``."""

    def __init__(self, db: sqlite3.Connection, namespace: str) -> None:
        self._db = db
        self._name = namespace
        self._read: dict[int, Slot] = {}

    def _found(self, where: str, *values: object) -> int | None:
        """The number of the first slot for which ``where`` holds. It is kept for ``get``."""
        sql = f"SELECT n, {_SLOT} FROM slot WHERE namespace=? AND {where}"  # noqa: S608
        row = self._db.execute(sql, (self._name, *values)).fetchone()
        if row is None:
            return None
        n: int = row[0]
        self._read[n] = Slot(*row[1:])
        return n

    def get(self, n: int) -> Slot:
        if n not in self._read and self._found("n=?", n) is None:
            return UNTOUCHED
        return self._read[n]

    def put(self, n: int, slot: Slot) -> None:
        self._read[n] = slot
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

    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        if guard > now:
            return None
        free = guard, now, among.start, among.stop - 1
        where = "until>? AND until<=? AND n BETWEEN ? AND ?"
        n = self._found(
            f"{where} AND (token='' OR until<=?) ORDER BY until DESC, n LIMIT 1", *free, late_from
        )
        if n is None:
            n = self._lowest(guard, among, held_after=None)
        return self._found(f"{where} ORDER BY until, n LIMIT 1", *free) if n is None else n

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        for held_after in (now, None):
            n = self._lowest(guard, among, held_after=held_after)
            if n is not None:
                return n
        n = self._found(
            "n BETWEEN ? AND ? ORDER BY until, token!='' AND until>?, n LIMIT 1",
            *(among.start, among.stop - 1, now),
        )
        assert n is not None  # every slot has until > guard, so every one has a row
        return n

    def void_tokens(self) -> None:
        self._read.clear()
        self._db.execute(
            "UPDATE slot SET start=until, token='', holder='', since_us=0 "
            "WHERE namespace=? AND token!=''",
            (self._name,),
        )

    def stored(self) -> Iterator[tuple[int, Slot]]:
        rows = self._db.execute(
            f"SELECT n, {_SLOT} FROM slot WHERE namespace=? ORDER BY n",  # noqa: S608
            (self._name,),
        )
        return ((n, Slot(*rest)) for n, *rest in rows)


def lay_out(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables in a new file. Raises ConfigError for another program's file."""
    known = db.execute("PRAGMA application_id").fetchone()[0]
    if known == APPLICATION_ID:
        return
    if known & ~0xFF == _FRAZIL:
        raise ConfigError(
            f"{path} was written by another version of frazil; use that version, or move the file "
            "away: the next start then waits one horizon"
        )
    if known or db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise ConfigError(
            f"{path} is a database of another program; name a file that only frazil uses"
        )
    db.execute("PRAGMA page_size=1024")  # a step logs each page that it changes as a whole
    db.execute("BEGIN IMMEDIATE")
    for statement in text_beside(__name__, "table.sql").split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id={APPLICATION_ID}")
    db.execute("COMMIT")
