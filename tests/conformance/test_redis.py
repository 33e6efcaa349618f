"""Redis and Valkey keep the contract: one server, a cluster, several that share nothing."""

import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.conformance.adapters import UrlStore, applied
from tests.servers.redis import FLAVOURS, Cluster, Server, until
from tests.tools.proxy import Proxy

SEVERAL = {
    "pasts_end_a_holders_claim",
    "losses_make_the_past_unknown",
    "members_share_one_record",
    "namespaces_are_apart",
    "strangers_are_refused",
    "constants_have_slots_of_their_own",
    "grants_fit_best",
    "full_pools_are_shared",
    "first_uses_wait_a_horizon",
    "initialising_spares_the_wait",
    "initialising_is_done_once",
    "initialising_without_knowing_waits",
    "members_remember_the_revision",
    "members_remember_what_they_hold",
    "members_remember_the_reach",
    "members_continue_the_clock",
    "late_members_close_nothing",
    "lost_claims_are_not_given_back",
    "members_remember_the_clock",
    "older_copies_are_noticed",
    "older_copies_are_noticed_until_written",
    "older_counters_stay_refused",
    "missing_counters_are_errors",
    "counters_begin_where_told",
    "counter_blocks_never_overlap",
    "counters_give_back_the_rest",
    "older_counters_are_refused",
    "lost_counters_start_beyond_all_that_is_known",
    "counters_are_not_older_than_their_last_start",
    "counters_move_forward_only",
    "lost_counters_are_errors",
    "counters_outlive_a_restart",
    "counters_end",
}
"""The checks that are about one record."""


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
        applied(SeveralStore(*served(stack, 3, "valkey", faked=True)), *SEVERAL)


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
