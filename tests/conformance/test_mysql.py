"""The MySQL registry keeps the contract, on Debian's MariaDB."""

import tempfile
from pathlib import Path

from tests.conformance.adapters import UrlStore, applied
from tests.servers.clock import SteppedClock
from tests.servers.mariadb import mariadb
from tests.tools.proxy import Proxy


class MysqlStore(UrlStore):
    """Its own server, whose clock is a file, and whose rows can be overwritten."""

    rewind_shows = True

    def __init__(self, server, wire: Proxy, clock: SteppedClock) -> None:
        super().__init__(f"mysql://root@127.0.0.1:{wire.port}/app?horizon=1s")
        self.server = server
        self.wire = wire
        self.clock = clock
        self.ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        self.clock.step(self.ahead_us / 1e6)

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

    def losing_replies(self):
        return self.wire.losing_replies(after=b"UPDATE frazil_namespace")

    def repeating_requests(self):
        return self.wire.repeating_requests()

    def restart(self):
        self.server.kill9()
        self.server.start()


def test_mariadb():
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name))
        with mariadb(env=clock.env) as server, Proxy(server.port) as wire:
            applied(MysqlStore(server, wire, clock))
