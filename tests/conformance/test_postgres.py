"""The PostgreSQL registry keeps the contract, on every set of programs that is here."""

import tempfile
from pathlib import Path

import libfaketime
import psycopg
import pytest

from tests.conformance.adapters import UrlStore, applied
from tests.needs import needs
from tests.servers.postgres import postgres, programs

__all__: list[str] = []

ONE_WIRE = {"lost_replies_are_told", "repeated_deliveries_do_no_harm"}


class PostgresStore(UrlStore):
    """A server of its own, whose clock is a file, and whose rows can be written over."""

    rewind_shows = False

    def __init__(self, server, offset: Path) -> None:
        super().__init__(server.url(options="?horizon=500ms"))
        self.server = server
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
        with postgres(bin_, env=env) as server:
            applied(PostgresStore(server, offset), *ONE_WIRE)
