"""A MariaDB server for one test, which starts, kills, freezes, replicates and promotes it.

The programs are Debian's (package mariadb-server). ``root`` of the server may connect from this
machine without a password.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql

from tests.needs import needs
from tests.servers.database import Database

_PLACES = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", os.environ.get("PATH", os.defpath)])


class MariaDb(Database):
    """One server with an empty database ``app``. number: its server_id."""

    path = _PLACES

    def __init__(self, place: Path, number: int = 1, env: dict[str, str] | None = None) -> None:
        super().__init__(place, env)
        self.number = number

    def url(self, options: str = "", user: str = "root") -> str:
        """The registry's URL."""
        return f"mysql://{user}@127.0.0.1:{self.port}/app{options}"

    def make(self) -> None:
        """Create an empty data directory."""
        options = [f"--datadir={self.data}", "--skip-test-db", "--no-defaults"]
        options += ["--auth-root-authentication-method=normal"]
        options += [f"--tmpdir={self.place}"]  # a server that starts empties its own
        self.run(_program("mariadb-install-db"), *options)

    def start(self, *settings: str) -> None:
        """Start on the previous port, or a free one; ready when this returns."""
        super().start(*settings)
        self.sql("CREATE DATABASE IF NOT EXISTS app", database=None)

    def _command(self, port: int, settings: tuple[str, ...]) -> list[str]:
        return [
            _program("mariadbd"), "--no-defaults", f"--datadir={self.data}",
            f"--port={port}", "--bind-address=127.0.0.1", f"--socket={self.place}/s",
            f"--pid-file={self.place}/pid", f"--server-id={self.number}",
            f"--tmpdir={self.place}", "--innodb-buffer-pool-size=32M",
            *(f"--{setting}" for setting in settings),
        ]  # fmt: skip

    def _answers(self, port: int) -> bool:
        where = {"host": "127.0.0.1", "port": port, "user": "root", "connect_timeout": 2}
        with suppress(pymysql.Error), pymysql.connect(**where):
            return True
        return False

    def sigstop(self) -> None:
        """Freeze it; it keeps its connections and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def sigcont(self) -> None:
        """Let it continue."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def connect(self, database: str | None = "app", user: str = "root") -> Any:
        """A connection of the driver."""
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, database=database, autocommit=True
        )

    def sql(self, text: str, database: str | None = "app") -> tuple[Any, ...]:
        """Run one statement; returns its rows."""
        with self.connect(database) as link, link.cursor() as cursor:
            cursor.execute(text)
            return tuple(cursor.fetchall())

    def replica(self) -> "MariaDb":
        """A running replica of this server, which was started with ``log-bin``."""
        other = MariaDb(self.place.parent / "replica", self.number + 1)
        other.make()
        other.start()
        other.sql(
            f"CHANGE MASTER TO master_host='127.0.0.1', master_port={self.port}, "
            "master_user='root', master_use_gtid=slave_pos"
        )
        other.sql("START SLAVE")
        return other

    def close(self) -> None:
        """Kill it, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.kill9()


def _program(name: str) -> str:
    found = shutil.which(name, path=_PLACES)
    if found is None:
        needs(name, "claims in MariaDB (Debian's package mariadb-server)")
    return str(found)


@contextmanager
def mariadb(*settings: str, env: dict[str, str] | None = None) -> Iterator[MariaDb]:
    """A running server in a temporary directory. env: more of its environment."""
    _program("mariadbd")
    with tempfile.TemporaryDirectory(prefix="frazil-my-") as name:
        Path(name).chmod(0o755)
        server = MariaDb(Path(name) / "primary", env=env)
        try:
            server.make()
            server.start(*settings)
            yield server
        finally:
            server.close()
