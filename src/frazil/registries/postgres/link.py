"""The connection to a PostgreSQL server, opened on first use and again after an error or a fork.

The connection is kept between verbs, because a new one costs more than a verb. The verbs of other
namespaces use it too (see ``shared_links``), so it is kept only if no transaction is open. A forked
child must not use its parent's connection. Its copy is cut off before anything else runs there, so
a child that wakes up inside its parent's verb cannot commit, and no message tells the server when
the copy is closed.

Errors of the server and of the driver are translated here, with the next step for each.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.inputs.masking import masked
from frazil.registries.tabled import Collided, NoTable
from frazil.system.clock import boot_s
from frazil.system.extras import needs
from frazil.system.imports import path_beside
from frazil.system.process import ProcessIdentity
from frazil.system.sockets import cut_in_children, is_quiet, limited

with needs("postgresql: needs psycopg 3", "postgres"):
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

_NO_TABLE = "42P01"  # the SQLSTATE of a table that does not exist
_COLLIDED = {"40001", "40P01"}  # serialisation failure, deadlock
STATEMENT_S = 3  # the server's time limit for a statement
_PATIENCE_S = 4.0
_LIBPQ = {
    "connect_timeout": "3",
    "tcp_user_timeout": "4000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "application_name": "frazil",
}

_IDLE = psycopg.pq.TransactionStatus.IDLE
Answer = TypeVar("Answer")
Cursor = psycopg.ClientCursor[tuple[Any, ...]]


def full_conninfo(url: str, conninfo: str) -> str:
    """The parameters of a connection. url: as it may be shown. Raises ConfigError."""
    try:
        return make_conninfo("", **(_LIBPQ | conninfo_to_dict(conninfo)))
    except (psycopg.Error, UnicodeError) as error:
        raise ConfigError(f"{url}: {masked(error)}".strip(), url=url) from None


class Link:
    """A connection to the server that ``conninfo`` names. url: as it may be shown in messages.

    committing: whether the current verb has sent its COMMIT; after that an error may leave the
    outcome unknown.
    """

    def __init__(self, url: str, conninfo: str) -> None:
        self.url = url
        self.conninfo = conninfo
        self.connection: _Connection | None = None
        self.committing = False
        self._process = ProcessIdentity()

    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """A cursor on the connection, which is closed after an error or in a transaction."""
        self.committing = False
        try:
            if self.connection is None or not is_quiet(_Wire(self.connection.pgconn).fileno()):
                self.close()
                self.connection = self._connect()
            with psycopg.ClientCursor(self.connection) as cursor:
                yield cursor
        except psycopg.Error as error:
            self.close()
            raise _explained(error, self.url, committing=self.committing) from error
        finally:
            connection = self.connection
            if connection is not None and connection.info.transaction_status != _IDLE:
                self.close()

    def _connect(self) -> "_Connection":
        connection = _Connection.connect(
            self.conninfo,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",  # from a database of SQL_ASCII, text would be bytes
        )
        cut_in_children(connection, _Wire(connection.pgconn))
        return connection

    def close(self) -> None:
        """Close the connection; a copy of the parent's is closed without a message."""
        connection, self.connection = self.connection, None
        if connection is None or connection.closed:
            return
        if not self._process.intact():  # Python does not notice a fork in C, or a restored machine
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), connection.fileno(), inheritable=False)
        connection.close()

    def __del__(self) -> None:
        if "connection" in self.__dict__:
            self.close()


class _Wire:
    """The socket of a connection."""

    def __init__(self, pgconn: Any) -> None:
        self._pgconn = pgconn

    def fileno(self) -> int:
        """Its file descriptor; -1 after it was closed."""
        with suppress(psycopg.OperationalError):
            number: int = self._pgconn.socket
            return number
        return -1


class _Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a time limit for each answer."""

    def wait(self, gen: Generator[Any, Any, Answer], *args: Any, **kwargs: Any) -> Answer:
        """Run an exchange with the server to its end."""
        try:
            with limited(self, boot_s() + _PATIENCE_S):
                return super().wait(gen, *args, **kwargs)
        except TimeoutError:
            raise psycopg.OperationalError(f"no answer within {_PATIENCE_S:g} s") from None

    def __del__(self, _warn: Any = None, /) -> None:
        """Say nothing: in a cycle it may be collected before its link, which would close it.

        psycopg closes the wire by itself, in the process that opened it.
        """


def table_command(url: str) -> str:
    """The command with which an administrator creates the table in the database of a URL."""
    from shlex import join  # slow to load, and for messages only

    named = url.partition("?")[0].partition("://")[2].partition("/")[2]
    return join(["psql", unquote(named) or "DATABASE", "-f", path_beside(__name__, "table.sql")])


_MISSING = "create it with frazil init {url}, or as an administrator: {command}"
_RIGHTS = (
    "members need SELECT, INSERT and UPDATE on frazil.frazil_namespace; if it does not exist, the "
    "owner of the database creates it: {command}"
)
_STANDBY = (
    "the server is a standby, which cannot write; use the primary, or several hosts and "
    "?target_session_attrs=read-write"
)
_REFUSALS = {  # by SQLSTATE: errors that a person must correct
    _NO_TABLE: _MISSING,
    "3F000": _MISSING,
    "42501": _RIGHTS,
    "42703": "another version of frazil created the table; use that version, or add the columns "
    "that this one needs: {command}",
    "42883": "the server lacks a function that frazil needs; use PostgreSQL 12 or newer",
    "28P01": "set the right user and password in the URL, PGPASSWORD or ~/.pgpass",
    "28000": "use a user that exists and that pg_hba.conf admits",
    "3D000": "create the database, or name another in the URL",
}
_CAUSES = {  # by SQLSTATE or its class: errors that may pass
    "0A000": _STANDBY,
    "25006": _STANDBY,
    "25P03": "this process was frozen with the row locked, and was rolled back; try again",
    "53100": "the server's disk is full; free some space",
    "53300": "the server is out of connections; use a pooler, or raise max_connections",
    "57014": f"the row was locked, or the disk busy, for {STATEMENT_S} s; try again",
    "57": "the server is stopping, starting or recovering; try again",
    "40": "transactions collided repeatedly; try again",
}
_MESSAGES = {  # errors before a session starts have a text and no SQLSTATE
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


_LIBPQS_ADVICE = " Is the server running"


def _explained(error: psycopg.Error, url: str, *, committing: bool) -> FrazilError:
    """An error of the server or the driver as an error of frazil, with the next step.

    committing: whether the COMMIT had been sent. Then the outcome is unknown, unless the server
    reports that it rolled back.
    """
    said = " ".join((error.diag.message_primary or str(error)).split())
    said = said.partition(_LIBPQS_ADVICE)[0]  # ours says the same
    state = error.sqlstate
    known = (
        not committing or (state is not None and state[:2] not in ("08", "57")) or state == "57014"
    )
    if state is None and "FATAL:" in said:
        fatal = said.partition("FATAL:")[2]
        state = next((code for word, code in _MESSAGES.items() if word in fatal), None)
    facts = {"url": url, "sqlstate": state}
    if state in _REFUSALS:
        step = _REFUSALS[state].format(url=url, command=table_command(url))
        refusal = NoTable if state == _NO_TABLE else ConfigError
        return refusal(f"{url}: {said}; {step}", **facts)
    advice = _CAUSES.get(state or "") or _CAUSES.get((state or "")[:2])
    advice = advice or "check that the server runs and can be reached"
    passing = Collided if state in _COLLIDED else RegistryUnavailable
    return passing(f"{url}: {said}; {advice}", outcome_known=known, **facts)
