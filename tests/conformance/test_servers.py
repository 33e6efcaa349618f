"""The registries of PostgreSQL, MariaDB and ZooKeeper keep the contract, on one server each."""

from urllib.parse import quote

import pytest

from tests.conformance.adapters import ServerStore, applied, clocked
from tests.needs import needs
from tests.servers.clock import SteppedClock, WallClock
from tests.servers.mariadb import mariadb
from tests.servers.postgres import postgres, programs
from tests.servers.zookeeper import zookeeper
from tests.tools.proxy import Proxy


class SqlStore(ServerStore):
    """Its own server, whose clock is a file, and whose rows can be overwritten."""

    losing = "UPDATE frazil_namespace"
    table = "frazil_namespace"

    def forget(self, namespace):
        self.server.sql(f"TRUNCATE {self.table}")

    def copy(self, namespace):
        self.server.sql("DROP TABLE IF EXISTS kept")
        row = f"SELECT * FROM {self.table} WHERE name = '{namespace}'"
        self.server.sql(f"CREATE TABLE kept AS {row}")

    def rewind(self, namespace, copied):
        self.server.sql(f"DELETE FROM {self.table} WHERE name = '{namespace}'")
        self.server.sql(f"INSERT INTO {self.table} SELECT * FROM kept")


class PostgresStore(SqlStore):
    url = "postgresql://postgres@127.0.0.1:{}/postgres?horizon=1s"
    table = "frazil.frazil_namespace"


FIRST, *OTHERS = programs() or [None]


@pytest.mark.parametrize(
    "bin_", [FIRST, *(pytest.param(other, marks=pytest.mark.long) for other in OTHERS)], ids=str
)
def test_postgres(bin_):
    if bin_ is None:
        needs("initdb", "claims in PostgreSQL")
    with (
        clocked(SteppedClock) as clock,
        postgres(bin_, env=clock.env) as server,
        Proxy(server.port) as wire,
    ):
        server.sql("ALTER ROLE postgres SET default_transaction_isolation TO 'serializable'")
        applied(PostgresStore(server, wire, clock))


class MysqlStore(SqlStore):
    url = "mysql://root@127.0.0.1:{}/app?horizon=1s"


@pytest.mark.long
def test_mariadb():
    with (
        clocked(SteppedClock) as clock,
        mariadb(env=clock.env) as server,
        Proxy(server.port) as wire,
    ):
        applied(MysqlStore(server, wire, clock))


class ZookeeperStore(ServerStore):
    """Its own servers, whose clock is a file, and whose nodes can be overwritten."""

    rewind_shows = False
    url = "zookeeper://127.0.0.1:{}/ids?horizon=1s"
    losing = '"fingerprint"'

    def _path(self, namespace):
        return f"/ids/record/{quote(namespace, safe='')}"

    def forget(self, namespace):
        with self.server.client() as client:
            client.delete(self._path(namespace))

    def copy(self, namespace):
        with self.server.client() as client:
            return client.get(self._path(namespace))[0]

    def rewind(self, namespace, copied):
        with self.server.client() as client:
            client.set(self._path(namespace), copied)


@pytest.mark.long
def test_zookeeper():
    with clocked(WallClock) as clock, zookeeper(1, clock.env) as server, Proxy(server.port) as wire:
        applied(ZookeeperStore(server, wire, clock))
