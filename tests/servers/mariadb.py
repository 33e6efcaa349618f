"""A MariaDB server for one test, which starts, kills, freezes, replicates and promotes it.

The programs are Debian's (package mariadb-server). The server refuses to run as root, so root runs
it as another user. ``root`` of the server may connect from this machine without a password.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql

from tests.needs import needs
from tests.servers.postgres import free_port

__all__ = ["MariaDb", "mariadb"]

_USER = "nobody"
_PATIENCE_S = 180
_PLACES = os.pathsep.join(["/usr/sbin", "/usr/local/sbin", os.environ.get("PATH", os.defpath)])


class MariaDb:
    """One server with an empty database ``app``. number: its server_id."""

    def __init__(self, place: Path, number: int = 1, env: dict[str, str] | None = None) -> None:
        self.place = place
        self.number = number
        self.env = env or {}
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.place.mkdir(mode=0o700, parents=True)
        if os.getuid() == 0:
            shutil.chown(self.place, _USER)

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.place / "data"

    def url(self, options: str = "", user: str = "root") -> str:
        """The registry's URL."""
        return f"mysql://{user}@127.0.0.1:{self.port}/app{options}"

    def make(self) -> None:
        """Create an empty data directory."""
        command = [_program("mariadb-install-db"), f"--datadir={self.data}", "--skip-test-db"]
        command += ["--auth-root-authentication-method=normal", "--no-defaults"]
        command += [f"--tmpdir={self.place}"]  # a server that starts empties its own
        done = subprocess.run(command, capture_output=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stderr.decode()

    def start(self, *settings: str) -> None:
        """Start on the previous port, or a free one; ready when this returns."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            port = self.port or free_port()
            command = [
                _program("mariadbd"), "--no-defaults", f"--datadir={self.data}",
                f"--port={port}", "--bind-address=127.0.0.1", f"--socket={self.place}/s",
                f"--pid-file={self.place}/pid", f"--server-id={self.number}",
                f"--tmpdir={self.place}", "--innodb-buffer-pool-size=32M",
                *(f"--{setting}" for setting in settings),
            ]  # fmt: skip
            with (self.place / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    **self._as_user(self.env),
                )
            if self._answers(port, deadline):
                self.port = port
                self.sql("CREATE DATABASE IF NOT EXISTS app", database=None)
                return
            assert time.monotonic() < deadline, (self.place / "log").read_text()[-2000:]
            time.sleep(0.1)

    def stop(self) -> None:
        """Shut it down."""
        self._end(signal.SIGTERM)

    def kill9(self) -> None:
        """Kill it."""
        self._end(signal.SIGKILL)

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

    def save(self) -> None:
        """Copy the data directory, with the server stopped meanwhile."""
        self.stop()
        shutil.rmtree(self.place / "saved", ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.data), str(self.place / "saved")], check=True)
        self.start()

    def put_back(self) -> None:
        """Stop it, put the data directory back as it was saved, and start it."""
        self.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(self.place / "saved"), str(self.data)], check=True)
        self.start()

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

    def _answers(self, port: int, deadline: float) -> bool:
        assert self._process is not None
        while time.monotonic() < deadline and self._process.poll() is None:
            with (
                suppress(pymysql.Error),
                pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2),
            ):
                return self._process.poll() is None
            time.sleep(0.03)
        return False

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(_PATIENCE_S)

    def _as_user(self, env: dict[str, str] | None = None) -> dict[str, Any]:
        how: dict[str, Any] = {"cwd": "/"}
        how["env"] = {"PATH": _PLACES, "LC_ALL": "C"} | (env or {})
        if os.getuid() == 0:
            how |= {"user": _USER, "group": "nogroup", "extra_groups": []}
        return how


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
