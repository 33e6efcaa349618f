"""``postgresql://``: claims of all hosts that share a database.

A verb is one transaction on the one row of its namespace: ``SELECT ... FOR UPDATE``, the pure verb,
``UPDATE``, ``COMMIT``, in two messages. The row lock queues the members fairly, and the isolation
level is READ COMMITTED whatever the default, so that one that waited sees what its predecessor
left. The clock is read by a statement of its own *after* the one that locks: ``now()`` stands still
from the start of the transaction, and a clock in the locking statement is read before the wait.

What a database can do to us, and what is done about it:

- *Acknowledge what it has not kept.* ``synchronous_commit=off`` in the server, the database or the
  role is overridden in each transaction; the transaction then reads what is in force, and is
  refused where something between us and the server has kept it ``off``. A stronger setting stays.
- *Forget.* A promoted replica has another timeline, a restored data directory another start of the
  server, a dropped or reloaded table another number. They are the incarnation, with the system
  identifier; any role may read them. A start is no loss of a counter, since each restart is one: a
  counter in a data directory that was put back goes on from there, unless a member remembers more.
- *Have a row put back* in the same table, or changed by hand. Each member writes the number of its
  transaction into the row, and compares it with the one that the server has noted for the row
  (``xmin``, of which 32 bits are left; freezing keeps it). So a row that any other transaction
  wrote is a loss. What writes all rows anew does the same: a dump that is loaded, logical
  replication, ``ALTER TABLE`` that changes a column's type, pg_repack.
- *Lose the reply to a COMMIT.* Then the outcome is unknown, and said to be.
- *Stand still.* The server has a time limit for each statement, and the client one of its own for a
  server that is frozen. A *member* that stands still with the row locked is thrown out by the
  server (``idle_in_transaction_session_timeout``), and finds its step undone.

Nothing depends on the session: settings are local to the transaction, and there are no prepared
statements, listeners or locks that outlive it, so any pooler will do. The connection is kept
between verbs, since a new one costs more than a verb, and replaced after each error and each fork.
"""

import os
import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from frazil.claims.claim import LastSeen, Snapshot, VerbRequest
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.inputs.url import Url
from frazil.registries.base import RecordRegistry, terms_of
from frazil.registries.doctor import Checkup
from frazil.registries.postgres.doctor import QUESTION, examine
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns, wall_us
from frazil.system.process import ProcessIdentity

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise ConfigError(
        f'postgresql: needs psycopg 3: pip install "frazil[postgres]" ({error})'
    ) from None

__all__ = ["PostgresRegistry", "schema"]

HORIZON_US = 5_000_000
_STATEMENT_S = 3
_IDLE_S = 2  # how long the row may stay locked by a member that does nothing
_PATIENCE_S = 4.0
_COLLISIONS = ("40001", "40P01")  # serialisation failure, deadlock
_TRIES = 6
_NO_TABLE = "42P01"
_LIBPQ = {
    "connect_timeout": "3",
    "tcp_user_timeout": "4000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "application_name": "frazil",
}
_HEAD = ["sid", "incarnation", "fingerprint", "layout", "revision", "guard"]
_HEAD += ["last_us", "offset_us", "top_us"]
_COLUMNS = ", ".join(_HEAD)
_FROM = "FROM frazil_namespace WHERE name = %(name)s"
_OURS = "(writer & 4294967295) = xmin::text::bigint"
_LOCK = f"SELECT {_OURS}, {_COLUMNS}, slots {_FROM} FOR UPDATE"
_BEGIN = f"""BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('statement_timeout', '{_STATEMENT_S}s', true),
       set_config('idle_in_transaction_session_timeout', '{_IDLE_S}s', true),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                  WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""
_TELL = """SELECT current_setting('synchronous_commit'),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       concat_ws('.', (pg_control_system()).system_identifier,
                 left(pg_walfile_name(pg_current_wal_lsn()), 8), 'frazil_namespace'::regclass::oid),
       (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"""
_INSERT = "INSERT INTO frazil_namespace (name) VALUES (%(name)s) ON CONFLICT DO NOTHING"
_UPDATE = (
    f"UPDATE frazil_namespace SET {', '.join(f'{c} = %({c})s' for c in _HEAD)}, "  # noqa: S608
    "slots = %(slots)s, writer = txid_current() WHERE name = %(name)s AND revision = %(found)s"
)

Answer = TypeVar("Answer")


def schema() -> str:
    """The statements that make the table; the file is shipped for those who apply it by hand."""
    return (resources.files("frazil.registries.postgres") / "table.sql").read_text(encoding="utf-8")


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits for its server only so long."""

    def wait(self, gen: Generator[Any, Any, Answer], *args: Any, **kwargs: Any) -> Answer:
        """See psycopg: run a conversation with the server to its end."""
        return super().wait(_bounded(gen), *args, **kwargs)


def _bounded(gen: Generator[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
    """The same conversation; when its end is not heard for too long, an error.

    After the deadline, what has already come is read once more: the process may have been stopped.
    """
    deadline_ns = boot_ns() + int(_PATIENCE_S * 1e9)
    over = False
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            was_over, over = over, boot_ns() > deadline_ns
            if over and (was_over or not ready):
                raise psycopg.OperationalError(f"no answer within {_PATIENCE_S:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: Answer = end.value
        return answer


class PostgresRegistry(RecordRegistry):
    """A registry in a table. ``?horizon=`` (default 5 s); other options are libpq's."""

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        terms = terms_of(scheme, options.duration_us("horizon", HORIZON_US))
        super().__init__(url, namespace, terms)
        try:
            told = conninfo_to_dict(url.without("horizon"))
        except (psycopg.Error, UnicodeError) as error:
            raise ConfigError(f"{self.url}: {error}".strip(), url=self.url) from error
        self._conninfo = make_conninfo("", **(_LIBPQ | told))
        self._link: _Connection | None = None
        self._sense = ProcessIdentity()
        self._read_us = 0
        self._keeping = False

    def reading_us(self) -> int:
        """See RecordRegistry: the server's clock, read after the row was locked."""
        return self._read_us

    def perform(self, verb: Callable[[Record, int, str], Answer]) -> Answer:
        """See RecordRegistry; again when the server had to choose between two transactions."""
        for tried in range(1, _TRIES):
            try:
                return super().perform(verb)
            except RegistryUnavailable as error:
                if error.facts.get("sqlstate") not in _COLLISIONS:
                    raise
                time.sleep(random.uniform(0.0, 0.01 * 2**tried))  # noqa: S311 - jitter
        return super().perform(verb)

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """See Registry. Makes the table where there is none."""
        try:
            return super().initialise(ask, start)
        except ConfigError as error:
            if error.facts.get("sqlstate") != _NO_TABLE:
                raise
        with self._talk() as cursor:
            cursor.execute("BEGIN; SELECT pg_advisory_xact_lock(7384926105)")  # one of many
            cursor.execute(schema().encode())
            cursor.execute("COMMIT")
        return super().initialise(ask, start)

    def look(self) -> Snapshot | None:
        """See Registry."""
        try:
            return super().look()
        except ConfigError as error:
            if error.facts.get("sqlstate") != _NO_TABLE:
                raise
            return None

    def examine(self) -> Checkup:
        """See Registry."""
        before_us = wall_us()
        with self._talk() as cursor:
            cursor.execute(QUESTION)
            names = [column.name for column in cursor.description or ()]
            told = dict(zip(names, cursor.fetchall()[0], strict=True))
        ahead_us = told["now_us"] - (before_us + wall_us()) // 2
        return examine(told, self.terms, ahead_us)

    @contextmanager
    def step(self) -> Iterator[tuple[Record, str]]:
        """See RecordRegistry."""
        with self._talk() as cursor:
            record, incarnation = self._lock(cursor)
            found = record.revision
            try:
                yield record, incarnation
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            self._keep(cursor, record, found)

    def _lock(self, cursor: "psycopg.ClientCursor[tuple[Any, ...]]") -> tuple[Record, str]:
        name = {"name": self.namespace}
        cursor.execute(f"{_BEGIN}; {_LOCK}; {_TELL}".encode(), name)
        _, _, rows, told = _results(cursor)
        if not rows:
            cursor.execute(f"{_INSERT}; {_LOCK}; {_TELL}".encode(), name)
            _, rows, told = _results(cursor)
        (synchronous, self._read_us, data, start), (ours, *head, slots) = told[0], rows[0]
        if synchronous not in ("on", "remote_apply"):
            cursor.execute("ROLLBACK")
            raise ConfigError(
                f"{self.url}: synchronous_commit is {synchronous!r} and stays so; the server would "
                "forget claims that it has given. Let transactions set it (check the pooler)",
                url=self.url,
            )
        record = Record(PackedSlots(slots), *head)
        if not ours:
            record.incarnation = ""
        return record, f"{data}/{start}"

    def _keep(
        self, cursor: "psycopg.ClientCursor[tuple[Any, ...]]", record: Record, found: int
    ) -> None:
        """Write the record over the one found, and no other: a message may come twice."""
        assert isinstance(record.slots, PackedSlots)
        values = {name: getattr(record, name) for name in _HEAD}
        values |= {"slots": record.slots.pack(), "name": self.namespace, "found": found}
        self._keeping = True
        cursor.execute(f"{_UPDATE}; COMMIT".encode(), values)
        if cursor.rowcount != 1:
            self._hang_up()
            raise RegistryUnavailable(
                f"{self.url}: the row was changed although it was locked; try again",
                url=self.url,
                outcome_known=True,
            )

    @contextmanager
    def _talk(self) -> Iterator["psycopg.ClientCursor[tuple[Any, ...]]"]:
        """A cursor on a connection of our own, which is closed after an error."""
        self._keeping = False
        try:
            if self._link is None or not self._sense.intact():
                self._connect()
            assert self._link is not None
            with psycopg.ClientCursor(self._link) as cursor:
                yield cursor
        except psycopg.Error as error:
            self._hang_up()
            raise explained(error, self.url, keeping=self._keeping) from error

    def _connect(self) -> None:
        self._hang_up()
        self._sense = ProcessIdentity()
        self._link = _Connection.connect(self._conninfo, autocommit=True, prepare_threshold=None)

    def _hang_up(self) -> None:
        """Close the connection; if it is the parent's, without a word to the server."""
        link, self._link = self._link, None
        if link is None or link.closed:
            return
        if not self._sense.intact():
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), link.fileno(), inheritable=False)
        link.close()

    def __del__(self) -> None:
        if "_link" in self.__dict__:
            self._hang_up()


def _results(cursor: "psycopg.ClientCursor[tuple[Any, ...]]") -> list[list[tuple[Any, ...]]]:
    """The rows of each statement of a message."""
    found = []
    while True:
        found.append(cursor.fetchall() if cursor.description else [])
        if not cursor.nextset():
            return found


_MISSING = (
    "run: frazil init URL, which makes it; or apply frazil/registries/postgres/table.sql (psql "
    "DATABASE -f). What a lost table gave is waited out"
)
_RIGHTS = (
    "members need SELECT, INSERT and UPDATE on frazil_namespace, and to make it CREATE on its "
    "schema: frazil/registries/postgres/table.sql says what to grant"
)
_STANDBY = (
    "this is a standby, which cannot write; name the primary, or several hosts and "
    "?target_session_attrs=read-write"
)
_REFUSALS = {  # by SQLSTATE: a person has to do something
    _NO_TABLE: _MISSING,
    "3F000": _MISSING,
    "42501": _RIGHTS,
    "42703": "the table was made by another version of frazil; use that one, or apply this one's "
    "frazil/registries/postgres/table.sql (psql DATABASE -f), which adds what is missing",
    "42883": "this server lacks a function that frazil needs; PostgreSQL 12 or newer has them",
    "28P01": "give the right user and password in the URL, PGPASSWORD or ~/.pgpass",
    "28000": "give a user that exists and that pg_hba.conf lets in",
    "3D000": "make the database, or name another in the URL",
}
_CAUSES = {  # by SQLSTATE or its class: time may help
    "0A000": _STANDBY,
    "25006": _STANDBY,
    "25P03": "this process stood still with the row locked, and was undone; try again",
    "53100": "the server's disk is full; make room",
    "53300": "the server is out of connections; use a pooler, or raise max_connections",
    "57014": f"the row was locked, or the disk busy, for {_STATEMENT_S} s; try again",
    "57": "the server is stopping, starting or recovering; try again",
    "40": "transactions collided again and again; try again",
}
_SPOKEN = {  # what a server says before there is a session comes without an SQLSTATE
    "too many": "53300",
    "connection slots": "53300",
    "starting up": "57",
    "shutting down": "57",
    "recovery": "57",
    "password": "28P01",
    "pg_hba.conf": "28000",
    "role": "28000",
    "database": "3D000",
}


def explained(error: psycopg.Error, url: str, *, keeping: bool) -> FrazilError:
    """The server's or the driver's error in frazil's words.

    keeping: whether the step had already been sent to be kept; then, unless the server says that it
    was undone, nobody knows whether it was.
    """
    said = " ".join((error.diag.message_primary or str(error)).split())
    state = error.sqlstate
    known = not keeping or (state is not None and state[:2] not in ("08", "57")) or state == "57014"
    if state is None and "FATAL:" in said:
        fatal = said.partition("FATAL:")[2]
        state = next((code for word, code in _SPOKEN.items() if word in fatal), None)
    facts = {"url": url, "sqlstate": state}
    if state in _REFUSALS:
        return ConfigError(f"{url}: {said}; {_REFUSALS[state]}", **facts)
    advice = _CAUSES.get(state or "") or _CAUSES.get((state or "")[:2])
    advice = advice or "see that the server runs and can be reached"
    return RegistryUnavailable(f"{url}: {said}; {advice}", outcome_known=known, **facts)
