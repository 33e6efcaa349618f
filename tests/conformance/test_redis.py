"""Redis and Valkey keep the contract: one server, a cluster, several that share nothing."""

import time
from contextlib import ExitStack

import pytest

from tests.conformance.adapters import NO_SERVER, UrlStore, applied, together
from tests.servers.redis import FLAVOURS, Cluster, Server, until
from tests.tools.proxy import Proxy


def fields(server, namespace):
    """A namespace's hash."""
    with server.client() as client:
        return client.hgetall(f"frazil:{{{namespace}}}")


def put_back(server, namespace, kept):
    with server.client() as client:
        client.delete(f"frazil:{{{namespace}}}")
        client.hset(f"frazil:{{{namespace}}}", mapping=kept)


class RedisStore(UrlStore):
    """Its own servers, behind proxies. Each fault happens to all of them.

    Their clocks are the host's: Debian's Redis does not come up under libfaketime.
    """

    rewind_shows = False

    def __init__(self, servers, proxies, options="") -> None:
        hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
        super().__init__(f"redis://{hosts}?horizon=500ms&timeout=2s{options}")
        self.servers = servers
        self.proxies = proxies

    def forget(self, namespace):
        for server in self.servers:
            server.do("FLUSHALL")

    def copy(self, namespace):
        return [fields(server, namespace) for server in self.servers]

    def rewind(self, namespace, copied):
        for server, kept in zip(self.servers, copied, strict=True):
            put_back(server, namespace, kept)

    def restart(self):
        for server in self.servers:
            server.restart()

    def losing_replies(self):
        return together(proxy.losing_replies(after=b"EVAL") for proxy in self.proxies)

    def repeating_requests(self):
        return together(proxy.repeating_requests() for proxy in self.proxies)


class ValkeyStore(RedisStore):
    """The same, each server with its own clock."""

    ahead_us = 0

    def step_clock(self, us):
        self.ahead_us += us
        for server in self.servers:
            server.step_clock(self.ahead_us / 1e6)
            until(lambda one=server: self._has_stepped(one), "the server to read its new clock")

    def _has_stepped(self, server):
        seconds, _ = server.do("TIME")
        return abs(int(seconds) - time.time() - self.ahead_us / 1e6) < 3


class SeveralStore(ValkeyStore):
    """Independent servers as one registry."""

    parts = 3


def served(stack, count, flavour, **options):
    """Servers that keep every write, and a proxy before each."""
    servers = [
        stack.enter_context(Server(flavour, persistent=True, **options)) for _ in range(count)
    ]
    return servers, [stack.enter_context(Proxy(server.port)) for server in servers]


CLOCKS = {
    "losses_while_the_clock_is_absorbed",
    "losses_with_an_earlier_clock",
    "waits_outlast_a_corrected_clock",
    "steps_forward_take_a_witness",
    "steps_back_are_absorbed",
}
"""The checks that step the store's clock."""


@pytest.mark.long
def test_redis():
    with ExitStack() as stack:
        applied(RedisStore(*served(stack, 1, "redis"), "&durable=1"), *CLOCKS)


def test_valkey():
    with ExitStack() as stack:
        applied(ValkeyStore(*served(stack, 1, "valkey", faked=True), "&durable=1"))


def test_three_independent_servers():
    with ExitStack() as stack:
        several = SeveralStore(*served(stack, 3, "valkey", faked=True))
        assert applied(several, because="it is 3 stores with a record each") == 33


class ClusterStore(UrlStore):
    """A cluster of three."""

    rewind_shows = False

    def __init__(self, cluster) -> None:
        super().__init__(f"{cluster.url}&horizon=500ms")
        self.cluster = cluster

    def _home(self, namespace):
        return self.cluster.home(f"frazil:{{{namespace}}}")

    def forget(self, namespace):
        self._home(namespace).do("DEL", f"frazil:{{{namespace}}}")

    def copy(self, namespace):
        return fields(self._home(namespace), namespace)

    def rewind(self, namespace, copied):
        put_back(self._home(namespace), namespace, copied)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_cluster(flavour):
    with Cluster(flavour) as cluster:
        applied(ClusterStore(cluster), *NO_SERVER, *CLOCKS)
