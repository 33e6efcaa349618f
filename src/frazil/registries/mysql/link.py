"""The connection to a MySQL or MariaDB server, opened on first use and again after an error.

The driver is PyMySQL. Three things are added to it. One message holds several statements, so a
verb takes two round trips. One time limit covers a whole answer (see ``sockets``). And a forked
child cannot use its parent's connection: its copy is cut off before anything else runs there, so a
child that wakes up inside its parent's verb can neither commit nor end the session.

The verbs of other namespaces use the same connection (see ``shared_links``). So a verb that fails
ends its transaction, or the connection.

The C client (mysqlclient) offers none of the three: it reads and writes the socket where Python
cannot see it. It is not used, even if it is installed.

Errors of the server and of the driver are translated here, with the next step for each.
"""

import encodings.idna  # noqa: F401 - for the name of the host, before another thread needs it
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from frazil.errors import ConfigError, FrazilError, RegistryUnavailable
from frazil.registries.tabled import Collided, NoTable
from frazil.system.clock import boot_s
from frazil.system.extras import needs
from frazil.system.imports import path_beside
from frazil.system.process import ProcessIdentity
from frazil.system.sockets import cut_in_children, is_quiet, limited

with needs("mysql: needs PyMySQL", "mysql"):
    import pymysql
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT

_NO_TABLE = 1146  # the error number of a table that does not exist
EXISTS = 1359  # the error number of a trigger that exists already
DENIED = (1142, 1227, 1419)  # the error numbers of a trigger that this user may not create
_COLLIDED = {1020, 1213}  # changed since it was read, deadlock
_LOCK_S = 3
_PATIENCE_S = 4.0
# A pooler may give each message another session, so each verb sets what it depends on.
_SESSION = (
    f"SET SESSION innodb_lock_wait_timeout={_LOCK_S}, sql_mode='STRICT_ALL_TABLES', "
    "time_zone='+00:00'"
)

Rows = Sequence[tuple[Any, ...]]


class _Connection(Connection):  # type: ignore[misc] # it has no types
    """A connection with one time limit for each answer."""

    asking = False  # whether a message was sent whose answer has not been read to its end

    def fileno(self) -> int:
        """The file descriptor of its socket; -1 if it has none."""
        return -1 if self._sock is None else int(self._sock.fileno())

    def connect(self, sock: Any = None) -> None:
        with limited(self, boot_s() + _PATIENCE_S):
            super().connect(sock)
        cut_in_children(self, self._sock)

    def ask(self, text: str, values: dict[str, Any] | None = None) -> list[Rows]:
        """Send statements in one message; returns the rows of each, or its number of changes."""
        self.asking = True
        found: list[Rows] = []
        with limited(self, boot_s() + _PATIENCE_S), self.cursor() as cursor:
            cursor.execute(text, values)
            while True:
                found.append(cursor.fetchall() if cursor.description else [(cursor.rowcount,)])
                if not cursor.nextset():
                    break
        self.asking = False
        return found


class Link:
    """A connection to one server. url: as it may be shown. options: PyMySQL's.

    committing: whether the current verb has sent its COMMIT; after that an error may leave the
    outcome unknown. mariadb: whether the server is a MariaDB, once connected.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self.url = url
        self.committing = False
        self.mariadb = False
        self._options = options
        self._connection: _Connection | None = None
        self._process = ProcessIdentity()

    @contextmanager
    def connected(self) -> Iterator[_Connection]:
        """The connection. An error of the driver closes it, another one rolls back."""
        self.committing = False
        try:
            if self._connection is None or not is_quiet(self._connection.fileno()):
                self.close()
                self._connection = self._connect()
            yield self._connection
        except (pymysql.Error, OSError) as error:
            self.close()
            raise _explained(error, self.url, committing=self.committing) from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """End the transaction; if an exchange was interrupted, its answer may still come."""
        connection = self._connection
        if connection is None or connection.asking or not self._process.intact():
            self.close()
            return
        try:
            connection.ask("ROLLBACK; SET wait_timeout=DEFAULT")
        except (pymysql.Error, OSError):
            self.close()

    def _connect(self) -> _Connection:
        connection = _Connection(
            **self._options,
            autocommit=True,
            charset="utf8mb4",
            client_flag=CLIENT.MULTI_STATEMENTS | CLIENT.FOUND_ROWS,
            connect_timeout=3,
            read_timeout=2 * _PATIENCE_S,  # for a host where no thread runs
            write_timeout=_PATIENCE_S,
            program_name="frazil",
            init_command=_SESSION,
        )
        self.mariadb = "mariadb" in str(connection.get_server_info()).lower()
        return connection

    def close(self) -> None:
        """Close the connection without a message; the server then rolls back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection._force_close()  # noqa: SLF001 - close() would end the parent's session

    def __del__(self) -> None:
        if "_connection" in self.__dict__:
            self.close()


def table_command(url: str) -> str:
    """The command that creates the table and its triggers in the database of a masked URL."""
    from shlex import quote  # slow to load, and for messages only

    database = url.partition("?")[0].partition("://")[2].partition("/")[2].strip("/")
    return f"mysql {quote(unquote(database))} < {quote(path_beside(__name__, 'table.sql'))}"


_MISSING = "create it with frazil init {url}, or as an administrator: {command}"
_RIGHTS = (
    "members need SELECT, INSERT and UPDATE on frazil_namespace; if it does not exist, an "
    "administrator creates it: {command}"
)
_STANDBY = "the server is read-only, as a replica is; use the primary"
_REFUSALS = {  # by error number: errors that a person must correct
    _NO_TABLE: _MISSING,
    1044: "grant the user rights on the database in the URL",
    1045: "set the right user and password in the URL",
    1046: "name the database in the URL: mysql://user@host/database",
    1049: "create the database, or name another in the URL",
    1054: "another version of frazil created the table; use that version, or create a new table",
    1142: _RIGHTS,
    1143: _RIGHTS,
    1193: "the server lacks a variable that frazil needs; use MySQL 8.0, MariaDB 10.6, or newer",
    1449: "the user that created the triggers no longer exists; drop them, and create them again: "
    "{command}",
    1698: "set the right user and password in the URL",
    3159: "the server accepts TLS only; write mysqls:",
}
_CAUSES = {  # by error number: errors that may pass
    1020: "transactions collided repeatedly; try again",
    1021: "the server's disk is full; free some space",
    1040: "the server is out of connections; use a pooler, or raise max_connections",
    1053: "the server is stopping; try again",
    1114: "the server's disk is full; free some space",
    1205: f"the row was locked for {_LOCK_S} s; try again",
    1213: "transactions collided repeatedly; try again",
    1290: _STANDBY,
    1792: _STANDBY,
    1836: _STANDBY,
}
_ROLLED_BACK = {1020, 1205, 1213, 1290, 1792, 1836}


def _explained(error: Exception, url: str, *, committing: bool) -> FrazilError:
    """An error of the server or the driver as an error of frazil, with the next step."""
    number, said = 0, str(error)
    if isinstance(error, pymysql.Error) and len(error.args) > 1:
        number, said = error.args[0], str(error.args[1])
    elif isinstance(error, TimeoutError):
        said = f"no answer within {_PATIENCE_S:g} s"
    said = " ".join(said.split())
    facts = {"url": url, "number": number}
    if number in _REFUSALS:
        step = _REFUSALS[number].format(url=url, command=table_command(url))
        refusal = NoTable if number == _NO_TABLE else ConfigError
        return refusal(f"{url}: {said}; {step}", **facts)
    advice = _CAUSES.get(number, "check that the server runs and can be reached")
    known = not committing or number in _ROLLED_BACK
    passing = Collided if number in _COLLIDED else RegistryUnavailable
    return passing(f"{url}: {said}; {advice}", outcome_known=known, **facts)
