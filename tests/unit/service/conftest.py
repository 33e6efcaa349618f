"""A real service in its own process, on a free port, and a client for it."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from frazil.service.tokens import hash_of
from tests.needs import needs

needs("uvicorn", "the service")

START = "from frazil.cli import main; main(prog_name='frazil')"
PATIENCE_S = 120.0


class Service:
    """``frazil serve`` as a process; ``client`` is an httpx client of it, ``lines`` its log.

    before: a command that runs it. file: its configuration. other_lines: what it wrote that is no
    line of the log.
    """

    def __init__(
        self,
        folder: Path,
        config: str,
        *options: str,
        token: str = "",
        before: Sequence[str] = (),
        **popen: Any,
    ) -> None:
        file = folder / "frazil.toml"
        file.write_text(config, encoding="utf-8")
        args = ["serve", "--config", str(file), "--port", "0", *options]
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", START, *args],
            env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        self.file = file
        self.other_lines: list[str] = []
        self.lines: list[dict[str, Any]] = []
        self._fresh: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.url = self.wait_for("listening")["url"]
        except BaseException:
            self.process.kill()
            raise
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_S)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            with suppress(ValueError):
                line = json.loads(text)
                self.lines.append(line)
                self._fresh.put(line)
                continue
            self.other_lines.append(text)
            self._fresh.put({"event": "not a line of the log", "text": text})

    def wait_for(self, event: str) -> dict[str, Any]:
        """Return the next log line with that event; earlier lines are skipped."""
        seen = []
        while True:
            try:
                line = self._fresh.get(timeout=PATIENCE_S)
            except queue.Empty:
                raise AssertionError(f"no {event!r} in the log, but {seen}") from None
            if line["event"] == event:
                return line
            seen.append(line)

    @property
    def port(self) -> int:
        """The port for HTTP."""
        return int(self.url.rpartition(":")[2])

    @cached_property
    def resp(self) -> int:
        """The port for Redis clients."""
        return int(self.wait_for("listening for redis clients")["port"])

    @property
    def resident(self) -> int:
        """The resident memory of the process, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            pytest.skip("how much memory another process has is read from /proc")
        return int(status.read_text().partition("VmRSS:")[2].split()[0]) << 10

    def dialled(self, port: int = 0) -> socket.socket:
        """A connection for HTTP, or to another port."""
        return socket.create_connection(("127.0.0.1", port or self.port), timeout=20)

    def said(self, *pieces: bytes, port: int = 0) -> bytes:
        """All that comes after these bytes, which are sent apart, until the connection ends."""
        with self.dialled(port) as wire:
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(ConnectionError):
                for piece in pieces:
                    wire.sendall(piece)
                    time.sleep(0.02 * (len(pieces) > 1))
            return rest_of(wire)

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(PATIENCE_S)  # workers, if there are some, end a little later
        if self.process.stderr is not None:
            self.process.stderr.close()


def token(
    name: str, *scopes: str, secret: str = "", places: Sequence[str] = "*", more: str = ""
) -> str:
    """A token of a configuration, which issues IDs; its secret is its name, or another."""
    given = list(scopes) or ["issue"]
    head = f'[[tokens]]\nname = "{name}"\nhash = "{hash_of(secret or name)}"\n'
    return f"{head}namespaces = {[*places]}\nscopes = {given}\n{more}\n"


def rest_of(wire: socket.socket) -> bytes:
    """All that comes until the service ends the connection; fails if it does not."""
    answer = b""
    with suppress(ConnectionError):
        while part := wire.recv(65_536):
            answer += part
    return answer


def refused(folder: Path, config: str, *options: str) -> str:
    """What a service says, as one line, that ends with an error at its start."""
    file = folder / "frazil.toml"
    file.write_text(config, encoding="utf-8")
    command = [sys.executable, "-c", START, "serve", "--config", str(file), "--port", "0", *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """``start(config, *options)``: a service for one test, killed at its end."""
    running: list[Service] = []

    def begin(config: str = "", *options: str, **more: Any) -> Service:
        running.append(Service(tmp_path, config, *options, **more))
        return running[-1]

    yield begin
    for service in running:
        service.__exit__(None, None, None)
