"""What a PostgreSQL and a MariaDB server have in common: a process, and a data directory.

Neither runs as root, so root runs it as another user, in a separate directory.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

PATIENCE_S = 180
_USER = "nobody"


def free_port() -> int:
    """A port that is free now. A server that finds it taken is started again on another."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Database(ABC):
    """One server. place: its directory. env: more of its environment. ``path`` is its PATH.

    Subclasses have ``_command``, which runs it on a port, ``_answers``, and what ends it (``end``).
    """

    path = os.defpath
    end = signal.SIGTERM

    def __init__(self, place: Path, env: dict[str, str] | None = None) -> None:
        self.place = place
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

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs to its end."""
        command = [program, *arguments]
        done = subprocess.run(command, capture_output=True, check=False, **self._as_user())
        assert done.returncode == 0, done.stderr.decode()

    def start(self, *settings: str) -> None:
        """Start on the previous port, or a free one; ready when this returns."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            port = self.port or free_port()
            with (self.place / "log").open("ab") as log:
                self._process = subprocess.Popen(
                    self._command(port, settings),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    **self._as_user(self.env),
                )
            while time.monotonic() < deadline and self._process.poll() is None:
                if self._answers(port) and self._process.poll() is None:
                    self.port = port
                    return
                time.sleep(0.03)
            # After a kill the new server may be refused until the old one's children have ended.
            assert time.monotonic() < deadline, (self.place / "log").read_text()[-2000:]
            time.sleep(0.1)

    @abstractmethod
    def _command(self, port: int, settings: tuple[str, ...]) -> list[str]: ...

    @abstractmethod
    def _answers(self, port: int) -> bool: ...

    def stop(self) -> None:
        """Shut it down."""
        self._end(self.end)

    def kill9(self) -> None:
        """Kill it; its children notice that and end."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE_S)

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

    def _as_user(self, env: dict[str, str] | None = None) -> dict[str, Any]:
        how: dict[str, Any] = {"cwd": "/"}
        how["env"] = {"PATH": self.path, "LC_ALL": "C"} | (env or {})
        if os.getuid() == 0:
            how |= {"user": _USER, "group": "nogroup", "extra_groups": []}
        return how
