"""The MySQL registry keeps the contract, on Debian's MariaDB."""

from tests.conformance.adapters import ServerStore, applied, clocked
from tests.servers.clock import SteppedClock
from tests.servers.mariadb import mariadb
from tests.tools.proxy import Proxy


class MysqlStore(ServerStore):
    """Its own server, whose clock is a file, and whose rows can be overwritten."""

    url = "mysql://root@127.0.0.1:{}/app?horizon=1s"
    losing = "UPDATE frazil_namespace"

    def forget(self, namespace):
        self.server.sql("TRUNCATE frazil_namespace")

    def copy(self, namespace):
        with self.server.connect() as link, link.cursor() as cursor:
            cursor.execute("SELECT * FROM frazil_namespace WHERE name=%s", [namespace.encode()])
            return cursor.fetchone()

    def rewind(self, namespace, copied):
        with self.server.connect() as link, link.cursor() as cursor:
            marks = ", ".join(["%s"] * len(copied))
            cursor.execute(f"REPLACE INTO frazil_namespace VALUES ({marks})", copied)


def test_mariadb():
    with (
        clocked(SteppedClock) as clock,
        mariadb(env=clock.env) as server,
        Proxy(server.port) as wire,
    ):
        applied(MysqlStore(server, wire, clock))
