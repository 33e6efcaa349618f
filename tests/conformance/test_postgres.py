"""The PostgreSQL registry keeps the contract, on every set of programs that is here."""

import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.conformance.adapters import UrlStore, applied
from tests.needs import needs
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres, programs
from tests.tools.proxy import Proxy


class PostgresStore(UrlStore):
    """Its own server, whose clock is a file, and whose rows can be overwritten."""

    rewind_shows = True

    def __init__(self, server, wire: Proxy, clock: SteppedClock) -> None:
        super().__init__(f"postgresql://postgres@127.0.0.1:{wire.port}/postgres?horizon=1s")
        self.server = server
        self.wire = wire
        self.clock = clock
        self.ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        self.clock.step(self.ahead_us / 1e6)

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

    def losing_replies(self):
        return self.wire.losing_replies(after=b"UPDATE frazil_namespace")

    def repeating_requests(self):
        return self.wire.repeating_requests()

    def restart(self):
        self.server.kill9()
        self.server.start()


@pytest.mark.parametrize("bin_", programs() or [None], ids=str)
def test_postgres(bin_):
    if bin_ is None:
        needs("initdb", "claims in PostgreSQL")
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with postgres(bin_, env=clock.env) as server, Proxy(server.port) as wire:
            applied(PostgresStore(server, wire, clock))
