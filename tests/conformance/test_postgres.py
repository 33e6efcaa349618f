"""The PostgreSQL registry keeps the contract, on every set of programs that is here."""

import tempfile
from pathlib import Path

import libfaketime
import psycopg
import pytest

from tests.conformance.adapters import UrlStore, applied
from tests.needs import needs
from tests.servers.postgres import postgres, programs
from tests.tools.proxy import Proxy

__all__: list[str] = []


class PostgresStore(UrlStore):
    """A server of its own, whose clock is a file, and whose rows can be written over."""

    rewind_shows = False

    def __init__(self, server, wire: Proxy, offset: Path) -> None:
        super().__init__(f"postgresql://postgres@127.0.0.1:{wire.port}/postgres?horizon=500ms")
        self.server = server
        self.wire = wire
        self.offset = offset
        self.ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        self.offset.write_text(f"{self.ahead_us / 1e6:+f}s\n")

    def forget(self, namespace):
        self.server.sql("TRUNCATE frazil_namespace")

    def copy(self, namespace):
        with psycopg.connect(self.server.url()) as link:
            row = link.execute("SELECT * FROM frazil_namespace WHERE name=%s", [namespace])
            return row.fetchone()

    def rewind(self, namespace, copied):
        with psycopg.connect(self.server.url()) as link:
            link.execute("DELETE FROM frazil_namespace WHERE name=%s", [namespace])
            marks = ", ".join(["%s"] * len(copied))
            link.execute(f"INSERT INTO frazil_namespace VALUES ({marks})", copied)

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
    library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        offset = Path(name) / "offset"
        offset.write_text("+0s\n")
        env = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        with postgres(bin_, env=env) as server, Proxy(server.port) as wire:
            applied(PostgresStore(server, wire, offset))
