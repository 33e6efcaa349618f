"""Redis and Valkey keep the contract: one server, a cluster, several that share nothing."""

import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.conformance.adapters import UrlStore, applied
from tests.servers.redis import FLAVOURS, Cluster, Server, until
from tests.tools.proxy import Proxy


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
        return [self._dump(server, f"frazil:{{{namespace}}}") for server in self.servers]

    def _dump(self, server, key):
        with server.client() as client:
            return key, client.hgetall(key)

    def rewind(self, namespace, copied):
        for server, (key, fields) in zip(self.servers, copied, strict=True):
            with server.client() as client:
                client.delete(key)
                client.hset(key, mapping=fields)

    def restart(self):
        for server in self.servers:
            server.restart()

    @contextmanager
    def losing_replies(self):
        with ExitStack() as stack:
            for proxy in self.proxies:
                stack.enter_context(proxy.losing_replies(after=b"EVAL"))
            yield

    @contextmanager
    def repeating_requests(self):
        with ExitStack() as stack:
            for proxy in self.proxies:
                stack.enter_context(proxy.repeating_requests())
            yield


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
        key = f"frazil:{{{namespace}}}"
        return self.cluster.home(key), key

    def forget(self, namespace):
        home, key = self._home(namespace)
        home.do("DEL", key)

    def copy(self, namespace):
        home, key = self._home(namespace)
        with home.client() as client:
            return client.hgetall(key)

    def rewind(self, namespace, copied):
        home, key = self._home(namespace)
        with home.client() as client:
            client.delete(key)
            client.hset(key, mapping=copied)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_cluster(flavour):
    with Cluster(flavour) as cluster:
        applied(
            ClusterStore(cluster),
            "restarts_repeat_nothing",
            "counters_outlive_a_restart",
            "lost_replies_are_told",
            "repeated_deliveries_do_no_harm",
            *CLOCKS,
        )
