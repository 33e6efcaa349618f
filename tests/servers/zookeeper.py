"""A ZooKeeper server or ensemble for one test, which starts, kills, freezes and puts back.

The programs are Debian's (packages zookeeper and a Java runtime).
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

from kazoo.client import KazooClient

from tests.needs import needs
from tests.servers.database import free_port
from tests.tools.waiting import until

_JARS = "/usr/share/java"
_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_PATIENCE_S = 180
_HEAP_MB = 96


def _stopped(thread: Path) -> bool:
    """Whether a thread, by its folder in /proc, has stopped or ended."""
    with suppress(OSError):
        return "\nState:\tT" in (thread / "status").read_text(encoding="utf-8")
    return True


class Member:
    """One server: its folder, its ports, its process."""

    def __init__(self, place: Path, number: int) -> None:
        self.place = place
        self.number = number
        self.port, self.peer, self.vote = free_port(), free_port(), free_port()
        self.process: subprocess.Popen[bytes] | None = None
        (place / "data").mkdir(parents=True)
        (place / "data" / "myid").write_text(str(number))


class ZooKeeper:
    """A server, or an ensemble of three. env: more of the servers' environment."""

    def __init__(
        self, place: Path, count: int, env: dict[str, str] | None = None, heap_mb: int = _HEAP_MB
    ) -> None:
        self.place = place
        self.heap_mb = heap_mb
        self.env = env or {}
        self.members = [Member(place / str(n), n) for n in range(1, count + 1)]

    @property
    def port(self) -> int:
        """The port of the first server."""
        return self.members[0].port

    def url(self, options: str = "") -> str:
        """The registry's URL, with all servers."""
        return f"zookeeper://{self._hosts()}{options}"

    def start(self) -> None:
        """Start the servers that do not run; ready when this returns."""
        for member in self.members:
            if member.process is None:
                member.process = self._started(member)
        self.wait()

    def kill9(self) -> None:
        """Kill all servers."""
        for member in self.members:
            self._end(member, signal.SIGKILL)

    def kill_leader(self) -> None:
        """Kill the leader of an ensemble."""
        leaders = [each for each in self.members if "leader" in self._mode(each)]
        assert len(leaders) == 1
        self._end(leaders[0], signal.SIGKILL)

    def signal_all(self, which: signal.Signals) -> None:
        """Send a signal to all servers; after SIGSTOP they have stopped when this returns."""
        for member in self.members:
            assert member.process is not None
            member.process.send_signal(which)
            if which is signal.SIGSTOP:
                threads = Path(f"/proc/{member.process.pid}/task")
                until(lambda threads=threads: all(map(_stopped, threads.iterdir())), "a stop")

    def save(self) -> None:
        """Copy the data of all servers, which are stopped meanwhile."""
        self.kill9()
        for member in self.members:
            shutil.rmtree(member.place / "saved", ignore_errors=True)
            shutil.copytree(member.place / "data", member.place / "saved")
        self.start()

    def put_back(self) -> None:
        """Stop all servers, put their data back as it was saved, and start them."""
        self.kill9()
        for member in self.members:
            shutil.rmtree(member.place / "data")
            shutil.copytree(member.place / "saved", member.place / "data")
        self.start()

    @contextmanager
    def client(self) -> Iterator[KazooClient]:
        """A client of the driver's."""
        client = KazooClient(hosts=self._hosts(), timeout=10)
        client.start(_PATIENCE_S)
        try:
            yield client
        finally:
            client.stop()
            client.close()

    def wait(self) -> None:
        """Wait until a write succeeds."""
        with self.client() as client:
            deadline = time.monotonic() + _PATIENCE_S
            while time.monotonic() < deadline:
                with suppress(Exception):
                    client.ensure_path("/ready")
                    client.set("/ready", b"")
                    return
                time.sleep(0.1)
        raise AssertionError(f"waited {_PATIENCE_S} s for ZooKeeper to answer")

    def close(self) -> None:
        """Kill what is left."""
        for member in self.members:
            if member.process is not None:
                with suppress(ProcessLookupError):
                    member.process.send_signal(signal.SIGCONT)
                self._end(member, signal.SIGKILL)

    def _hosts(self) -> str:
        return ",".join(f"127.0.0.1:{member.port}" for member in self.members)

    def _mode(self, member: Member) -> str:
        import socket

        with suppress(OSError), socket.create_connection(("127.0.0.1", member.port), 2) as wire:
            wire.sendall(b"srvr")
            told = b""
            while part := wire.recv(4096):
                told += part
            return told.decode()
        return ""

    def _started(self, member: Member) -> subprocess.Popen[bytes]:
        config = [
            "tickTime=1000", "initLimit=20", "syncLimit=10", "admin.enableServer=false",
            f"dataDir={member.place}/data", f"clientPort={member.port}",
            "clientPortAddress=127.0.0.1", "4lw.commands.whitelist=srvr", "maxClientCnxns=0",
        ]  # fmt: skip
        if len(self.members) > 1:
            config += [
                f"server.{each.number}=127.0.0.1:{each.peer}:{each.vote}" for each in self.members
            ]
        (member.place / "zoo.cfg").write_text("\n".join(config))
        command = [
            "java", f"-Xmx{self.heap_mb}m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", f"{_JARS}/*", _MAIN, str(member.place / "zoo.cfg"),
        ]  # fmt: skip
        with (member.place / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=member.place,
                env={"PATH": os.environ.get("PATH", os.defpath), **self.env},
            )

    def _end(self, member: Member, how: signal.Signals) -> None:
        if member.process is not None:
            member.process.send_signal(how)
            member.process.wait(_PATIENCE_S)
            member.process = None


@contextmanager
def zookeeper(
    count: int = 1, env: dict[str, str] | None = None, heap_mb: int = _HEAP_MB
) -> Iterator[ZooKeeper]:
    """A running server or ensemble in a temporary directory."""
    needs("java", "claims in ZooKeeper")
    if not Path(_JARS, "zookeeper.jar").exists():
        needs("zookeeper.jar", "claims in ZooKeeper (Debian's package zookeeper)")
    with tempfile.TemporaryDirectory(prefix="frazil-zk-") as name:
        servers = ZooKeeper(Path(name), count, env, heap_mb)
        try:
            servers.start()
            yield servers
        finally:
            servers.close()
