"""The etcd registry keeps the contract, on one member and on three."""

from base64 import b64decode, b64encode
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from frazil.registries.etcd import registry as module
from frazil.system import clock
from frazil_conformance import CHECKS, check_registry
from tests.conformance.adapters import UrlStore, applied, together
from tests.servers.etcd import etcd
from tests.tools.proxy import Proxy


class EtcdStore(UrlStore):
    """Its own cluster. The clock is that of the members, stepped for the registry alone."""

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


class RestoredStore(EtcdStore):
    """The same cluster, restored to a snapshot with all its ids."""

    def __init__(self, place, *rest) -> None:
        super().__init__(*rest)
        self.place = place
        self.known = set()

    def registry(self, scheme, namespace):
        """Make the log longer: a young cluster's log is as short as that of a restored one."""
        if namespace not in self.known:
            self.known.add(namespace)
            for _ in range(40):
                self.cluster.members[0].ask("kv/put", {"key": "eA=="})
        return super().registry(scheme, namespace)

    def copy(self, namespace):
        copy = self.place / namespace
        self.cluster.save(copy)
        return copy

    def rewind(self, namespace, copied):
        self.cluster.restore(copied)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.nightly), 3])
def test_etcd(size, monkeypatch):
    with etcd(size) as cluster, ExitStack() as stack:
        wires = [stack.enter_context(Proxy(member.port)) for member in cluster.members]
        applied(EtcdStore(cluster, wires, monkeypatch))


@pytest.mark.parametrize("size", [1, 3])
def test_etcd_put_back_to_a_snapshot(size, tmp_path, monkeypatch):
    names = {"lost_states_are_noticed_until_written", "older_copies_are_noticed_until_written"}
    names |= {"older_counters_stay_refused", "older_copies_are_noticed"}
    assert names < {check.__name__ for check in CHECKS}
    with etcd(size) as cluster, ExitStack() as stack:
        wires = [stack.enter_context(Proxy(member.port)) for member in cluster.members]
        store = RestoredStore(tmp_path, cluster, wires, monkeypatch)
        assert check_registry(store, only=names).names("passed") == names
