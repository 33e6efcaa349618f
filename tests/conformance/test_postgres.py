"""The PostgreSQL registry keeps the contract, on every set of programs that is here."""

import psycopg
import pytest

from tests.conformance.adapters import ServerStore, applied, clocked
from tests.needs import needs
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres, programs
from tests.tools.proxy import Proxy


class PostgresStore(ServerStore):
    """Its own server, whose clock is a file, and whose rows can be overwritten."""

    url = "postgresql://postgres@127.0.0.1:{}/postgres?horizon=1s"
    losing = "UPDATE frazil_namespace"

    def forget(self, namespace):
        self.server.sql("TRUNCATE frazil.frazil_namespace")

    def copy(self, namespace):
        with psycopg.connect(self.server.url()) as link:
            row = link.execute("SELECT * FROM frazil.frazil_namespace WHERE name=%s", [namespace])
            return row.fetchone()

    def rewind(self, namespace, copied):
        with psycopg.connect(self.server.url()) as link:
            link.execute("DELETE FROM frazil.frazil_namespace WHERE name=%s", [namespace])
            marks = ", ".join(["%s"] * len(copied))
            link.execute(f"INSERT INTO frazil.frazil_namespace VALUES ({marks})", copied)


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
