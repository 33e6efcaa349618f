"""The etcd registry keeps the contract, on one member and on three."""

from base64 import b64decode, b64encode
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest

from frazil import clock
from frazil.registries.etcd import registry as module
from tests.conformance.adapters import UrlStore, applied
from tests.servers.etcd import etcd
from tests.tools.proxy import Proxy

__all__: list[str] = []


class EtcdStore(UrlStore):
    """A cluster of its own. Its clock is the members', which is stepped for the registry alone."""

    rewind_shows = True

    def __init__(self, cluster, wires: list[Proxy], monkeypatch) -> None:
        hosts = ",".join(f"127.0.0.1:{wire.port}" for wire in wires)
        super().__init__(f"etcd://{hosts}?horizon=1s")
        self.cluster = cluster
        self.wires = wires
        self.ahead_us = 0
        stepped = SimpleNamespace(
            wall_us=lambda: clock.wall_us() + self.ahead_us, moment_text=clock.moment_text
        )
        monkeypatch.setattr(module, "clock", stepped)

    def step_clock(self, us):
        self.ahead_us += us

    def _key(self, namespace):
        return b64encode(f"frazil/record/{namespace}".encode()).decode()

    def forget(self, namespace):
        self.cluster.wait().ask("kv/deleterange", {"key": self._key(namespace)})

    def copy(self, namespace):
        (kv,) = self.cluster.wait().ask("kv/range", {"key": self._key(namespace)})["kvs"]
        return b64decode(kv["value"])

    def rewind(self, namespace, copied):
        put = {"key": self._key(namespace), "value": b64encode(copied).decode()}
        self.cluster.wait().ask("kv/put", put)

    def losing_replies(self):
        return together(wire.losing_replies(after=b"request_put") for wire in self.wires)

    def repeating_requests(self):
        return together(wire.repeating_requests() for wire in self.wires)

    def restart(self):
        for member in self.cluster.members:
            member.kill9()
        for member in self.cluster.members:
            self.cluster.restart(member)
        self.cluster.wait()


@contextmanager
def together(faults):
    with ExitStack() as stack:
        for fault in faults:
            stack.enter_context(fault)
        yield


@pytest.mark.parametrize("size", [1, 3])
def test_etcd(size, monkeypatch):
    with etcd(size) as cluster, ExitStack() as stack:
        wires = [stack.enter_context(Proxy(member.port)) for member in cluster.members]
        applied(EtcdStore(cluster, wires, monkeypatch))
