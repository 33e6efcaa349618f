"""``postgresql://``: claims in a PostgreSQL database.

A verb is one transaction on the row of a shelf (or of all): ``SELECT ... FOR UPDATE``, the pure
verb, ``UPDATE``, ``COMMIT``, in two messages. The row lock queues members fairly. The isolation
level is always READ COMMITTED, so a member that waited sees the row that its predecessor wrote. A
separate statement reads the clock *after* the row is locked: ``now()`` is constant within a
transaction, and a clock function in the locking statement is evaluated before the wait.

Failures of a database, and the measures against them:

- *Acknowledged data is not on disk.* Each transaction overrides ``synchronous_commit=off`` of the
  server, the database or the role, and then reads the setting in force. If a pooler kept it
  ``off``, the verb fails. A stronger setting is left unchanged.
- *Lost data.* A promoted replica has another timeline, a restored data directory another start time
  of the server, a dropped or reloaded table another number, and so has a database that was made
  from a template. With the system identifier they form the incarnation; any role may read them.
  For a counter a new start time is not a loss, because every restart has one: a counter in a
  restored data directory continues from there, unless a member remembers a higher value.
- *Another table in its place.* A table, its schema or its database is renamed, another one is used
  under the name, and the first one returns. Nothing in it has changed, but each ``ALTER`` writes
  the catalogue's row of what it renames; for a table also that of its type, which a ``GRANT``, a
  new column or a trigger leaves alone. The transactions that wrote the three rows are a part of the
  incarnation, like the start time. So after a ``GRANT`` on a schema or a database all members wait.
- *A restored or edited row.* Each member writes its transaction number into the row and compares it
  with the one that the server stores for the row (``xmin``, of which 32 bits are left; freezing
  keeps it). A row that any other transaction wrote counts as a loss. So does anything that rewrites
  all rows: loading a dump, logical replication, ``ALTER TABLE`` with a new column type, pg_repack.
- *A lost reply to a COMMIT.* The error then says that the outcome is unknown.
- *A frozen process.* The server limits the time of each statement, and the client limits the time
  it waits for the server. If a *member* freezes while the row is locked, the server ends its
  session (``idle_in_transaction_session_timeout``) and rolls back.

Any pooler works: settings are local to the transaction, and there are no prepared statements,
listeners or locks that outlive it.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from frazil.claims.claim import VerbRequest, layout_mismatch
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.claims.shelves import share
from frazil.errors import ConfigError
from frazil.inputs.url import Url
from frazil.registries.base import RECORD_COLUMNS, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.postgres import ids
from frazil.registries.postgres.doctor import IDS_QUESTION, IDS_ROWS, QUESTION, examine, examine_ids
from frazil.registries.postgres.link import (
    STATEMENT_S,
    Cursor,
    Link,
    full_conninfo,
    table_command,
)
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import Changes
from frazil.registries.tabled import TableRegistry
from frazil.schemes.scheme import Scheme
from frazil.sql.ids import cut_of
from frazil.sql.parts import quoted
from frazil.system.clock import boot_ns, wall_us
from frazil.system.imports import text_beside

_IDLE_S = 2  # how long an idle member may keep the row locked
_COLUMNS = ", ".join(RECORD_COLUMNS)
_OURS = "(writer & 4294967295) = xmin::text::bigint"
_LOCK = (
    f"SELECT name, {_OURS}, {_COLUMNS}, slots FROM frazil_namespace "  # noqa: S608
    "WHERE name = ANY(%(names)s) ORDER BY name FOR UPDATE"
)
_BESIDE = (
    f"SELECT name, {_OURS}, {_COLUMNS}, ''::bytea FROM frazil_namespace "  # noqa: S608
    "WHERE name = ANY(%(beside)s)"
)
# Its own schema comes last: a table that an application's search_path shows is the one in use.
_SEE = """set_config('search_path',
                  concat_ws(', ', nullif(current_setting('search_path'), ''), 'frazil'), true)"""
_BEGIN = f"""BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT {_SEE},
       set_config('statement_timeout', '{STATEMENT_S}s', true),
       set_config('idle_in_transaction_session_timeout', '{_IDLE_S}s', true),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""
_TELL = """SELECT current_setting('synchronous_commit'),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       concat_ws('.', (pg_control_system()).system_identifier,
                 left(pg_walfile_name(pg_current_wal_lsn()), 8), 'frazil_namespace'::regclass::oid,
                 (SELECT oid FROM pg_database WHERE datname = current_database())),
       concat_ws('.', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
                 (SELECT xmin FROM pg_database WHERE datname = current_database()),
                 (SELECT xmin FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class
                  WHERE oid = 'frazil_namespace'::regclass)),
                 (SELECT xmin FROM pg_type WHERE oid = (SELECT reltype FROM pg_class
                  WHERE oid = 'frazil_namespace'::regclass)))"""
_INSERT = (
    "INSERT INTO frazil_namespace (name) SELECT unnest(%(names)s::text[]) ORDER BY 1 "
    "ON CONFLICT DO NOTHING"
)
_SET = ", ".join(f"{column} = %({column})s" for column in RECORD_COLUMNS)
_UPDATE = (
    f"UPDATE frazil_namespace SET {_SET}, slots = %(slots)s, "  # noqa: S608
    "writer = txid_current() WHERE name = %(name)s AND revision = %(found)s"
)


_ALONE = "SELECT pg_advisory_xact_lock(7384926105)"  # one of many creates the table

_MOVED = f"""UPDATE frazil_namespace SET incarnation = %(after)s, writer = txid_current()
WHERE incarnation = %(before)s AND {_OURS}"""  # noqa: S608


def schema() -> str:
    """The statements that create the table. The file is also shipped, to be applied by hand."""
    return text_beside(__name__, "table.sql")


class PostgresRegistry(TableRegistry):
    """A registry in a table. ``?horizon=`` (default 5 s); other options are libpq's."""

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        terms = terms_of(scheme, options.horizon_us())
        super().__init__(url, namespace, scheme, terms)
        conninfo = full_conninfo(self.url, url.without("horizon"))
        # libpq also reads the environment, which may change between two registries.
        theirs = tuple(sorted(each for each in os.environ.items() if each[0].startswith("PG")))
        make = partial(Link, self.url, conninfo)
        self._links = SharedLinks(make, "postgres", url.text, theirs)
        self._locked: Cursor | None = None  # of a step, while it runs

    def by_hand(self) -> str:
        return table_command(self.url)

    def create_table(self) -> None:
        with self._cursor() as (_, cursor):
            cursor.execute(f"BEGIN; SELECT {_SEE}; {_ALONE}")
            cursor.execute(schema().encode())
            cursor.execute("COMMIT")

    def move_table(self) -> bool:
        """Move the table into the schema ``frazil``, unless it is there. Returns whether it moved.

        Members continue without a wait: they know a table by what the catalogue says of it, and
        each record that belonged to the old place gets the new one in the same transaction.
        """
        with self._cursor() as (_, cursor):
            cursor.execute(f"{_BEGIN}; {_ALONE}".encode())
            moves = ids.place_of(cursor) != "frazil"
            if moves:
                cursor.execute(f"LOCK TABLE frazil_namespace; {_TELL}".encode())
                before = _incarnation(_results(cursor)[-1][0])
                ids.move(cursor)
                cursor.execute(_TELL.encode())
                after = _incarnation(cursor.fetchall()[0])
                cursor.execute(_MOVED, {"before": before, "after": after})
            cursor.execute("COMMIT")
            return moves

    def add_ids(self, ask: VerbRequest, scheme: Scheme) -> int:
        """Set up ``frazil_id`` for this namespace, which has a record; returns its node number.

        Raises ConfigError for a scheme that it cannot make, or if no node number is free.
        """
        cut_of(scheme, 0)  # refuse the scheme before anything is changed
        with self._cursor() as (_, cursor):
            cursor.execute(f"BEGIN; SELECT {_SEE}; {_ALONE}")
            ids.install(cursor)
            cursor.execute("COMMIT")

        self.look()  # counts the shelves
        # The node is noted beside the first shelf, so it is one of those.
        first = share(self.terms, 0, self.count)

        def add(record: Record, reading_us: int, incarnation: str) -> int:
            if record.sid and record.fingerprint != self.terms.fingerprint:
                raise layout_mismatch(record.layout, self.terms)
            assert self._locked is not None
            with self._locked.connection.cursor() as cursor:
                if (node := ids.node_of(cursor, self.namespace)) is not None:
                    return node
                as_ids = ask._replace(holder=ids.HOLDER)
                claim = record.reserve(first, as_ids, reading_us, incarnation)
                return ids.add(cursor, self.namespace, self.terms, scheme, claim)

        return self.perform(add)

    def examine(self) -> StoreReport:
        before_us = wall_us()
        with self._cursor() as (_, cursor):
            cursor.execute(f"BEGIN; SELECT {_SEE}".encode())
            (told,) = _asked(cursor, QUESTION)
            ahead_us = told["now_us"] - (before_us + wall_us()) // 2
            made = next(iter(_asked(cursor, IDS_QUESTION)), None)
            rows = None
            if made and made["may_look"]:
                rows = _asked(cursor, IDS_ROWS.format(place=quoted(made["tables"])))
            cursor.execute("COMMIT")
        report = examine(told, self.terms, ahead_us, self.init_command, self.by_hand())
        in_sql = examine_ids(made, rows, f"{self.init_command} --sql")
        return report._replace(facts=(*report.facts, *in_sql))

    @contextmanager
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> Iterator[tuple[list[Record], str]]:
        with self._cursor() as (link, cursor):
            records, incarnation = self._lock(cursor, names, beside)
            changes = Changes(names, records)
            self._locked = cursor
            try:
                yield records, incarnation
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            finally:
                self._locked = None
            rows = [self.row_of(record, was) | {"name": name} for name, record, was in changes]
            self._keep(link, cursor, rows)

    @contextmanager
    def _cursor(self) -> Iterator[tuple[Link, Cursor]]:
        with self._links.taken() as link, link.cursor() as cursor:
            yield link, cursor

    def _lock(
        self, cursor: Cursor, names: Sequence[str], beside: Sequence[str]
    ) -> tuple[list[Record], str]:
        asked = {"names": list(names), "beside": list(beside)}
        question = f"{_LOCK}; {_TELL}" + f"; {_BESIDE}" * bool(beside)
        cursor.execute(f"{_BEGIN}; {question}".encode(), asked)
        _, _, rows, told, *others = _results(cursor)
        if len(rows) < len(names):
            cursor.execute(f"{_INSERT}; {question}".encode(), asked)
            _, rows, told, *others = _results(cursor)
            if len(rows) < len(names):
                cursor.execute("ROLLBACK")
                raise self.collided()
        self.read_ns = boot_ns()
        synchronous, self._read_us, *_ = told[0]
        if synchronous not in ("on", "remote_apply"):
            cursor.execute("ROLLBACK")
            raise ConfigError(
                f"{self.url}: synchronous_commit is {synchronous!r} and cannot be changed; the "
                "server could lose claims in a crash; let transactions set it (check the pooler)",
                url=self.url,
            )
        records = {}
        for name, ours, *head, slots in (*rows, *(row for other in others for row in other)):
            records[name] = record = Record(PackedSlots(slots), *head)
            if not ours:
                record.incarnation = ""
        empty = Record(PackedSlots())
        return [records.get(name, empty) for name in (*names, *beside)], _incarnation(told[0])

    def _keep(self, link: Link, cursor: Cursor, rows: Sequence[dict[str, Any]]) -> None:
        """Replace the records that were read, and no others: a message may arrive twice."""
        for number, values in enumerate(rows, 1):
            link.committing = number == len(rows)
            cursor.execute(f"{_UPDATE}{'; COMMIT' * link.committing}".encode(), values)
            if cursor.rowcount != 1:
                link.close()
                raise self.changed()
        if not rows:
            cursor.execute("COMMIT")


def _incarnation(told: tuple[Any, ...]) -> str:
    _, _, data, start = told
    return f"{data}/{start}"


def _asked(cursor: Cursor, question: str) -> list[dict[str, Any]]:
    """The rows of a question, by column."""
    cursor.execute(question.encode())
    names = [column.name for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _results(cursor: Cursor) -> list[list[tuple[Any, ...]]]:
    """The rows of each statement of a message."""
    found = []
    while True:
        found.append(cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else [])
        if not cursor.nextset():
            return found
