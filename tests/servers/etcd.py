"""An etcd cluster for one test, which starts, kills, freezes, cuts off and restores its members.

The program is FRAZIL_ETCD, else ``etcd`` on PATH, with ``etcdctl`` beside it. Not 3.5.0 to 3.5.2:
they can lose consistency when they are killed (etcd-io/etcd#13766).
"""

import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.needs import needs
from tests.servers.database import free_port

_PATIENCE_S = 180


def program(name: str = "etcd") -> str | None:
    """The path of etcd (or etcdctl); None if it is not installed."""
    told = os.environ.get("FRAZIL_ETCD")
    if told:
        return str(Path(told).with_name(name))
    return shutil.which(name)


class Member:
    """One server of a cluster. ``data`` is its directory."""

    def __init__(self, name: str, place: Path, tls: tuple[Path, Path] | None = None) -> None:
        self.tls = tls
        self.name = name
        self.data = place / name
        self.log = place / f"{name}.log"
        self.port = free_port()
        self.peer_port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def scheme(self) -> str:
        """The scheme of its URL for clients."""
        return "https" if self.tls else "http"

    def start(self, cluster: str, *arguments: str) -> None:
        """Start it; it is ready later."""
        where, peer = f"{self.scheme}://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer_port}"
        if self.tls:
            arguments += ("--cert-file", str(self.tls[0]), "--key-file", str(self.tls[1]))
        path = program()
        assert path is not None
        command = [path, "--name", self.name, "--data-dir", str(self.data)]
        command += ["--listen-client-urls", where, "--advertise-client-urls", where]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", cluster, "--heartbeat-interval", "50"]
        command += ["--election-timeout", "500", "--log-level", "error", *arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )

    def signal(self, which: signal.Signals) -> None:
        """Send a signal to the server."""
        assert self.process is not None
        self.process.send_signal(which)

    def kill9(self) -> None:
        """Kill the server."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(_PATIENCE_S)

    def ask(
        self, path: str, body: dict[str, Any] | None = None, timeout_s: float = 5
    ) -> dict[str, Any]:
        """Send this server a request; returns its answer."""
        request = urllib.request.Request(
            f"{self.scheme}://127.0.0.1:{self.port}/v3/{path}", json.dumps(body or {}).encode()
        )
        trust = ssl.create_default_context(cafile=str(self.tls[0])) if self.tls else None
        with urllib.request.urlopen(request, timeout=timeout_s, context=trust) as answer:
            told: dict[str, Any] = json.load(answer)
            return told

    def is_leader(self) -> bool:
        """Whether it believes that it is the leader."""
        with suppress(OSError):
            told = self.ask("maintenance/status")
            return bool(told.get("leader")) and told["leader"] == told["header"]["member_id"]
        return False


class Etcd:
    """A cluster."""

    def __init__(self, place: Path, size: int, tls: tuple[Path, Path] | None = None) -> None:
        self.place = place
        self.members = [Member(f"m{i}", place, tls) for i in range(size)]
        self._arguments: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The registry's URL, with all endpoints."""
        kind = "etcds" if self.members[0].tls else "etcd"
        return f"{kind}://" + ",".join(f"127.0.0.1:{m.port}" for m in self.members)

    @property
    def cluster(self) -> str:
        """The value of ``--initial-cluster``."""
        return ",".join(f"{m.name}=http://127.0.0.1:{m.peer_port}" for m in self.members)

    def start(self, *arguments: str) -> None:
        """Start all members; ready when this returns."""
        self._arguments = arguments
        for member in self.members:
            member.start(self.cluster, *arguments)
        self.wait()

    def restart(self, member: Member) -> None:
        """Start a member that was killed."""
        member.start(self.cluster, *self._arguments)

    def wait(self) -> Member:
        """Wait for a leader; returns it."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for member in self.members:
                if member.process and member.process.poll() is None and member.is_leader():
                    return member
            time.sleep(0.05)
        logs = "".join(m.log.read_text()[-1500:] for m in self.members if m.log.exists())
        raise AssertionError(f"waited {_PATIENCE_S} s for a leader:\n{logs}")

    def save(self, path: Path) -> None:
        """A snapshot of the first member."""
        self._ctl("--endpoints", f"127.0.0.1:{self.members[0].port}", "snapshot", "save", str(path))

    def restore(self, path: Path) -> None:
        """All members anew from a snapshot, with the same ids; they are killed before."""
        for member in self.members:
            if member.process and member.process.poll() is None:
                member.kill9()
            shutil.rmtree(member.data)
            self._ctl("snapshot", "restore", str(path), "--name", member.name,
                      "--data-dir", str(member.data), "--initial-cluster", self.cluster,
                      "--initial-advertise-peer-urls", f"http://127.0.0.1:{member.peer_port}",
                      "--skip-hash-check")  # fmt: skip
        self.start(*self._arguments)

    def _ctl(self, *arguments: str) -> None:
        path = program("etcdctl")
        if path is None:
            needs("etcdctl", "a restore of etcd")
        done = subprocess.run(
            [str(path), *arguments], env={"ETCDCTL_API": "3"}, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def close(self) -> None:
        """Leave no process behind."""
        for member in self.members:
            if member.process and member.process.poll() is None:
                member.signal(signal.SIGCONT)
                member.kill9()


@contextmanager
def etcd(size: int = 1, *arguments: str, tls: tuple[Path, Path] | None = None) -> Iterator[Etcd]:
    """A running cluster in a directory that is gone afterwards. tls: certificate and key."""
    if program() is None:
        needs("etcd", "claims in etcd")
    with tempfile.TemporaryDirectory(prefix="frazil-etcd-") as name:
        cluster = Etcd(Path(name), size, tls)
        try:
            cluster.start(*arguments)
            yield cluster
        finally:
            cluster.close()
