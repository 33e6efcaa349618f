"""One server of each store, by the name of its kind, and the faults that each of them can have."""

import signal
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from frazil.registries.mysql.registry import statements
from frazil.registries.postgres.registry import schema
from tests.servers.clock import SteppedClock
from tests.servers.etcd import etcd
from tests.servers.mariadb import mariadb
from tests.servers.postgres import postgres
from tests.servers.redis import Server
from tests.servers.zookeeper import zookeeper

KINDS = ("redis", "postgresql", "mysql", "etcd", "zookeeper")


@dataclass
class Store:
    """A running server, which keeps what it has acknowledged.

    url: of its registry. kill, start: of its processes. send: sends them a signal. forget: deletes
    all records; set_up: makes the tables that it deleted, if any. step_clock: sets how far the
    server's clock is ahead, if it was asked for.
    """

    url: str
    kill: Callable[[], Any]
    start: Callable[[], Any]
    send: Callable[[signal.Signals], Any]
    forget: Callable[[], Any]
    set_up: Callable[[], Any] = lambda: None
    step_clock: Callable[[float], Any] | None = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It does not answer meanwhile."""
        self.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send(signal.SIGCONT)


@contextmanager
def store(kind: str, *, clocked: bool = False) -> Iterator[Store]:
    """A server of that kind. clocked: with a clock of its own, in a kind that can have one."""
    with _redis(clocked) if kind == "redis" else _OTHERS[kind](clocked) as found:
        yield found


def _sender(freeze: Callable[[], Any], thaw: Callable[[], Any]) -> Callable[[signal.Signals], Any]:
    return lambda which: {signal.SIGSTOP: freeze, signal.SIGCONT: thaw}[which]()


@contextmanager
def _redis(clocked: bool) -> Iterator[Store]:
    with Server(persistent=True, faked=clocked) as server:
        send = _sender(server.freeze, server.thaw)
        forget = partial(server.do, "FLUSHALL")
        yield Store(
            server.url, server.kill, server.start, send, forget, step_clock=server.step_clock
        )


@contextmanager
def _database(kind: Any, table: str, set_up: list[str], clocked: bool) -> Iterator[Store]:
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = SteppedClock(Path(name)) if clocked else None
        with kind(env=clock.env if clock else None) as server:

            def made() -> None:
                for statement in set_up:
                    server.sql(statement)

            send = _sender(server.sigstop, server.sigcont)
            forget = partial(server.sql, f"DROP TABLE {table}")
            step = clock and clock.step
            yield Store(server.url(), server.kill9, server.start, send, forget, made, step)


@contextmanager
def _etcd(_clocked: bool) -> Iterator[Store]:
    with etcd() as cluster:
        (member,) = cluster.members
        first, last = (b64encode(text).decode() for text in (b"frazil/record/", b"frazil/record0"))
        forget = partial(member.ask, "kv/deleterange", {"key": first, "range_end": last})
        start = partial(cluster.restart, member)
        yield Store(cluster.url, member.kill9, start, member.signal, forget)


@contextmanager
def _zookeeper(_clocked: bool) -> Iterator[Store]:
    with zookeeper() as servers:

        def forget() -> None:
            with servers.client() as client:
                for name in client.get_children("/frazil/record"):
                    client.delete(f"/frazil/record/{name}")

        yield Store(servers.url(), servers.kill9, servers.start, servers.signal_all, forget)


_OTHERS = {
    "postgresql": partial(_database, postgres, "frazil.frazil_namespace", [schema()]),
    "mysql": partial(_database, mariadb, "frazil_namespace", statements()),
    "etcd": _etcd,
    "zookeeper": _zookeeper,
}
