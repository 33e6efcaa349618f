"""A server takes over that missed claims, and whose clock is behind, under live generators.

The first member to ask it may remember less than another one. A member continues the clock that it
was told, and reports it while the store waits; see ``frazil.claims.record``.
"""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.faults.fleet import UNHURRIED, Fleet
from tests.servers.clock import SteppedClock
from tests.servers.postgres import postgres
from tests.servers.redis import Server, free_port, until
from tests.tools.proxy import Proxy
from tests.tools.waiting import until as until_true

FOUR = "sign:1=0 time:41 node:2 sequence:20 @10ms since 2025-01-01T00:00:00Z"


@dataclass
class Pair:
    """A primary that members reach at ``url``, and its successor at ``direct``.

    forsake: the successor misses what is written from now on. fail: the primary dies, and the
    successor takes its place. open: members reach it.
    """

    url: str
    direct: str
    forsake: Callable[[], Any]
    fail: Callable[[], Any]
    open: Callable[[], Any]


@contextmanager
def _redis(behind_s: float, horizon: str = "3s", *, replicas: int) -> Iterator[Pair]:
    """Three servers; the successor is the replica that did not confirm."""
    with ExitStack() as stack:
        primary, keen, slow = (stack.enter_context(Server(faked=True)) for _ in range(3))
        link, wire = (stack.enter_context(Proxy(primary.port)) for _ in range(2))
        for server in (keen, slow):
            server.step_clock(-behind_s)
        keen.replicate(primary)
        slow.replicate(link)

        def forsake() -> None:
            link.target = free_port()
            link.cut()
            until(lambda: slow.info("replication")["master_link_status"] == "down", "a cut")

        def fail() -> None:
            _disconnect(wire)
            primary.kill()
            slow.promote()
            keen.replicate(slow)

        options = f"?horizon={horizon}&timeout=500ms&replicas={replicas}"
        near = f"redis://127.0.0.1:{wire.port}{options}"
        yield Pair(near, f"{slow.url}{options}", forsake, fail, _opening(wire, slow))


@contextmanager
def _postgresql(behind_s: float, horizon: str = "3s") -> Iterator[Pair]:
    """An asynchronous standby."""
    with postgres() as server:
        clock = SteppedClock(server.place.parent)
        clock.step(-behind_s)
        standby = server.replica(env=clock.env)
        try:
            with Proxy(server.port) as wire:

                def forsake() -> None:
                    standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
                    standby.sql("SELECT pg_reload_conf()")
                    until_true(lambda: not standby.sql("TABLE pg_stat_wal_receiver"), "a cut")

                def fail() -> None:
                    _disconnect(wire)
                    server.kill9()
                    standby.promote()

                options = f"?horizon={horizon}"
                near = f"postgresql://postgres@127.0.0.1:{wire.port}/postgres{options}"
                direct = standby.url(options=options)
                yield Pair(near, direct, forsake, fail, _opening(wire, standby))
        finally:
            standby.close()


def _disconnect(wire: Proxy) -> None:
    wire.target = free_port()
    wire.cut()


def _opening(wire: Proxy, server: Any) -> Callable[[], None]:
    def opening() -> None:
        wire.target = server.port

    return opening


STORES = {
    "confirmed": partial(_redis, replicas=1),
    "redis": partial(_redis, replicas=0),
    "postgresql": _postgresql,
}
"""The pairs of servers, by name; confirmed: Redis with ``?replicas=1``."""


def repeats(
    fleet: Callable[..., Fleet],
    store: str,
    behind_s: float,
    *,
    missed_s: float = 2.5,
    first: str = "any",
    seed: int = 0,
    **how: str,
) -> int:
    """How often IDs repeat after a failover.

    first: who asks the successor first: whoever comes ("any"), a new process ("new"), the member
    that was told of the lost store's clock before all others ("slowest"), or all but one that is
    stopped meanwhile ("stopped"). seed: of the moments.
    """
    rng = random.Random(seed)
    with STORES[store](behind_s) as pair:
        crowd = fleet(pair.url, scheme=FOUR, timeout=UNHURRIED, **how)
        crowd.start(3)
        time.sleep(1 + rng.random())
        pair.forsake()
        stopped = {"stopped": ["w0"], "slowest": ["w1", "w2"]}.get(first, [])
        if first == "slowest":
            crowd.signal("w0", signal.SIGSTOP)
        time.sleep(missed_s + (rng.uniform(-0.5, 0.5) if missed_s > 1 else 0))
        for name in stopped:
            crowd.signal(name, signal.SIGSTOP)
        pair.fail()
        if first == "slowest":
            crowd.signal("w0", signal.SIGCONT)
        if first == "new":
            crowd.url = pair.direct
            crowd.start(1, wait=False)
            time.sleep(1)
            crowd.url = pair.url
        pair.open()
        time.sleep(rng.uniform(0.1, 0.5))
        if stopped:
            time.sleep(1)
        for name in stopped:
            crowd.signal(name, signal.SIGCONT)
        crowd.start(2)
        crowd.progress()
        time.sleep(1 + behind_s)
        return crowd.repeats()
