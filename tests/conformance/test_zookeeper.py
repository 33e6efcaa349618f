"""The ZooKeeper registry keeps the contract, on one server."""

from urllib.parse import quote

from tests.conformance.adapters import ServerStore, applied, clocked
from tests.servers.clock import WallClock
from tests.servers.zookeeper import zookeeper
from tests.tools.proxy import Proxy


class ZookeeperStore(ServerStore):
    """Its own servers, whose clock is a file, and whose nodes can be overwritten."""

    rewind_shows = False
    url = "zookeeper://127.0.0.1:{}/ids?horizon=1s"
    losing = '"fingerprint"'

    def _path(self, namespace):
        return f"/ids/record/{quote(namespace, safe='')}"

    def forget(self, namespace):
        with self.server.client() as client:
            client.delete(self._path(namespace))

    def copy(self, namespace):
        with self.server.client() as client:
            return client.get(self._path(namespace))[0]

    def rewind(self, namespace, copied):
        with self.server.client() as client:
            client.set(self._path(namespace), copied)


def test_zookeeper():
    with clocked(WallClock) as clock, zookeeper(1, clock.env) as server, Proxy(server.port) as wire:
        applied(ZookeeperStore(server, wire, clock))
