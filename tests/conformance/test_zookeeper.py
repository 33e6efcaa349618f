"""The ZooKeeper registry keeps the contract, on one server."""

import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.conformance.adapters import UrlStore, applied
from tests.servers.clock import WallClock
from tests.servers.zookeeper import zookeeper
from tests.tools.proxy import Proxy


class ZookeeperStore(UrlStore):
    """Its own servers, whose clock is a file, and whose nodes can be overwritten."""

    rewind_shows = False

    def __init__(self, servers, wire: Proxy, clock: WallClock) -> None:
        super().__init__(f"zookeeper://127.0.0.1:{wire.port}/ids?horizon=1s")
        self.servers = servers
        self.wire = wire
        self.clock = clock
        self.ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        self.clock.step(self.ahead_us / 1e6)

    def _path(self, namespace):
        return f"/ids/record/{quote(namespace, safe='')}"

    def forget(self, namespace):
        with self.servers.client() as client:
            client.delete(self._path(namespace))

    def copy(self, namespace):
        with self.servers.client() as client:
            return client.get(self._path(namespace))[0]

    def rewind(self, namespace, copied):
        with self.servers.client() as client:
            client.set(self._path(namespace), copied)

    def losing_replies(self):
        return self.wire.losing_replies(after=b'"fingerprint"')

    def repeating_requests(self):
        return self.wire.repeating_requests()

    def restart(self):
        self.servers.kill9()
        self.servers.start()


def test_zookeeper():
    with tempfile.TemporaryDirectory(prefix="frazil-") as name:
        Path(name).chmod(0o755)
        clock = WallClock(Path(name))
        with zookeeper(1, clock.env) as servers, Proxy(servers.port) as wire:
            applied(ZookeeperStore(servers, wire, clock))
