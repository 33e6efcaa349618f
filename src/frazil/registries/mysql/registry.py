"""``mysql://`` and ``mariadb://``: claims in a MySQL (8.0) or MariaDB (10.6) database, or newer.

A verb is one transaction on the row of a shelf (or of all): ``SELECT ... FOR UPDATE``, the pure
verb, ``UPDATE``, ``COMMIT``, in two messages. The row lock of InnoDB queues the members. A
locking read sees the row that the predecessor wrote, whatever the isolation level. The clock is
read by a separate statement after the row is locked; its functions are constant within one.

Failures of a database, and the measures against them:

- *Acknowledged data is not on disk* (``innodb_flush_log_at_trx_commit`` is not 1), *a restored
  data directory, a promoted replica*. The incarnation contains the server's id (``server_uuid``;
  MariaDB: ``server_uid``) and the second in which it started. Neither system shows the start
  itself. But within one statement ``UNIX_TIMESTAMP()`` and the status variable ``Uptime`` use one
  reading of the clock. So their difference is the same number until the server starts again,
  whatever its clock does. For a counter a new start is not a loss, because every restart has one.
- *A table that was dropped and loaded from a dump* has another time of creation, which is part of
  the incarnation as well.
- *A restored or edited row.* A trigger notes whether a member wrote the row: a member tells its
  session beforehand what it writes. A row that another client wrote counts as a loss. Without the
  triggers, which not every user may create, members that remember more notice such a row.
- *A lost reply to a COMMIT.* The error then says that the outcome is unknown.
- *A frozen process.* The client limits the time it waits for the server. If a *member* freezes
  while the row is locked, the server ends its session (``wait_timeout``) and rolls back.

Limits: two starts in the same second of the server's clock look like one. A group of servers that
all accept writes (Galera, Group Replication) must be used through one of them: each server is
another incarnation, and each change of server costs one horizon. MariaDB computes its id from the
port and the address of its network card; if they change, a counter must be moved ahead (``frazil
init --start N --forward``).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import unquote

from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record
from frazil.errors import ConfigError, FrazilError
from frazil.inputs.url import Options, Url, host_port, tls_context, tls_files
from frazil.registries.base import RECORD_COLUMNS, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.mysql.doctor import QUESTION, STATUS, examine
from frazil.registries.mysql.link import DENIED, EXISTS, Link, table_command
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import Changes
from frazil.registries.tabled import TableRegistry
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns, wall_us
from frazil.system.imports import text_beside

_IDLE_S = 5
_LONGEST = 797  # bytes of a name that has room for the number of a shelf in its column
_PORT = 3306
_WORD = 1 << 64
_COLUMNS = ", ".join(RECORD_COLUMNS)
_BEGIN = f"SET wait_timeout={_IDLE_S}; SET TRANSACTION READ WRITE; START TRANSACTION"
_LOCK = (
    f"SELECT name, writer, {_COLUMNS}, slots FROM frazil_namespace "  # noqa: S608
    "WHERE name IN %(names)s ORDER BY name FOR UPDATE"
)
_BESIDE = (
    f"SELECT name, writer, {_COLUMNS}, CAST('' AS BINARY) FROM frazil_namespace "  # noqa: S608
    "WHERE name IN %(beside)s"
)
_TABLE = """(SELECT CONCAT_WS(' ', engine, CAST(UNIX_TIMESTAMP(create_time) AS SIGNED))
    FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = 'frazil_namespace')"""
_UPTIME = "(SELECT variable_value FROM {}.global_status WHERE variable_name = 'Uptime')"
_TELL = """SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED),
    {uid}, {table}, UNIX_TIMESTAMP(), {uptime}"""
_TELLS = {
    True: _TELL.format(
        uid="@@server_uid", table=_TABLE, uptime=_UPTIME.format("information_schema")
    ),
    False: _TELL.format(
        uid="@@server_uuid", table=_TABLE, uptime=_UPTIME.format("performance_schema")
    ),
}
_INSERT = "INSERT IGNORE INTO frazil_namespace (name, slots) VALUES (%(name)s, '')"
_SET = ", ".join(f"{column} = %({column})s" for column in RECORD_COLUMNS)
_UPDATE = (
    f"UPDATE frazil_namespace SET {_SET}, slots = %(slots)s, writer = 'member' "  # noqa: S608
    "WHERE name = %(name)s AND revision = %(found)s"
)
_END = "COMMIT; SET wait_timeout=DEFAULT, @frazil_writes=NULL"


def statements() -> list[str]:
    """The statements that create the table and its triggers. The file is also shipped."""
    text = text_beside(__name__, "table.sql")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [each.strip() for each in "\n".join(lines).split(";") if each.strip()]


class MysqlRegistry(TableRegistry):
    """A registry in a table. ``mysql://user:password@host[:port]/database``; ``mysqls:`` for TLS.

    Options: ``?horizon=`` (default 5 s), ``?socket=`` (a path, instead of host and port); for TLS
    ``?ca=``, ``?cert=`` and ``?key=``, files.
    """

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        terms = terms_of(scheme, options.horizon_us())
        super().__init__(url, namespace, scheme, terms)
        if len(namespace.encode()) > _LONGEST:
            self._count(1)
        make = partial(Link, self.url, _driver_options(url, options))
        self._links = SharedLinks(make, "mysql", url.text)
        options.finish()

    def by_hand(self) -> str:
        return table_command(self.url)

    def create_table(self) -> None:
        """See TableRegistry. Creates the triggers too, if the user may."""
        table, *triggers = statements()
        with self._connected() as (_, connection):
            connection.ask(table)
        for trigger in triggers:
            try:
                with self._connected() as (_, connection):
                    connection.ask(trigger)
            except FrazilError as error:
                if error.facts.get("number") not in (EXISTS, *DENIED):
                    raise

    def examine(self) -> StoreReport:
        before_us = wall_us()
        with self._connected() as (link, connection):
            status, (row,) = connection.ask(f"{STATUS}; {QUESTION}")
            mariadb = link.mariadb
        told = {str(name).lower(): value for name, value in status}
        ahead_us = int(row[0]) - (before_us + wall_us()) // 2
        return examine(
            told, row[1:], self.terms, ahead_us, mariadb=mariadb, init=self.init_command,
            by_hand=self.by_hand(),
        )  # fmt: skip

    @contextmanager
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> Iterator[tuple[list[Record], str]]:
        with self._connected() as (link, connection):
            asked = {
                "names": [name.encode() for name in names],
                "beside": [name.encode() for name in beside],
            }
            question = f"{_LOCK}; {_TELLS[link.mariadb]}; {_BESIDE if beside else 'DO 0'}"
            *_, rows, told, others = connection.ask(f"{_BEGIN}; {question}", asked)
            if len(rows) < len(names):
                for name in sorted(asked["names"]):
                    connection.ask(_INSERT, {"name": name})
                *_, rows, told, others = connection.ask(question, asked)
                if len(rows) < len(names):
                    raise self.collided()
            self.read_ns = boot_ns()
            self._read_us, uid, table, now_s, uptime_s = told[0]
            engine, _, created = (table or "").partition(" ")  # a view has neither
            data = f"{uid}.{created}" if created else str(uid)
            start_s = (now_s - int(uptime_s)) % _WORD  # a clock set back makes Uptime negative
            found = {}
            for name, writer, *head, slots in (*rows, *(others if beside else ())):
                found[bytes(name)] = record = Record(PackedSlots(bytes(slots)), *head)
                if not writer:
                    record.incarnation = ""
            empty = Record(PackedSlots())
            records = [found.get(name, empty) for each in asked.values() for name in each]
            changes = Changes(names, records)
            # After an error the link rolls back.
            yield records, f"{data.replace('/', '_')}/{start_s}"
            self._check_engine(engine)
            changed = [
                self.row_of(record, was) | {"name": name.encode()} for name, record, was in changes
            ]
            self._keep(link, connection, changed)

    def _check_engine(self, engine: str) -> None:
        """Raise ConfigError if the table has no transactions. A verb that only reads needs none."""
        if engine.lower() not in ("innodb", ""):
            raise ConfigError(
                f"{self.url}: table frazil_namespace has the engine {engine}, in which a claim can "
                "be given twice, because it has no transactions; run: ALTER TABLE frazil_namespace "
                "ENGINE=InnoDB",
                url=self.url,
            )

    @contextmanager
    def _connected(self) -> Iterator[tuple[Link, Any]]:
        with self._links.taken() as link, link.connected() as connection:
            yield link, connection

    def _keep(self, link: Link, connection: Any, rows: Sequence[dict[str, Any]]) -> None:
        for number, values in enumerate(rows, 1):
            link.committing = number == len(rows)
            tell = "SET @frazil_writes = %(revision)s"
            end = _END if link.committing else "DO 0"
            _, written, *_ = connection.ask(f"{tell}; {_UPDATE}; {end}", values)
            if written[0] != (1,):
                raise self.changed()
        if not rows:
            connection.ask(_END)


def _driver_options(url: Url, options: Options) -> dict[str, Any]:
    place = host_port(url.hosts[0], _PORT) if len(url.hosts) == 1 else None
    if place is None:
        raise ConfigError(
            f"{url.kind}: name one server, like {url.kind}://user@host:3306/database; for several, "
            "give the address of a proxy or a name that follows the primary"
        )
    name, password = url.user
    found: dict[str, Any] = {"host": place[0] or "localhost", "port": place[1]}
    found["database"] = unquote(url.path.strip("/")) or None
    if found["database"] is None:
        raise ConfigError(
            f"{url}: name the database: {url.kind}://user@host/database", url=str(url)
        )
    found |= {key: text for key, text in (("user", name), ("password", password)) if text}
    if path := options.text("socket"):
        found["unix_socket"] = path
    files = tls_files(url, options)
    if files is None:
        return found | {"ssl_disabled": True}  # else the driver loads all certificates each time
    return found | {"ssl": tls_context(url, files)}
