"""A server takes over that missed claims, and whose clock is behind.

The first member to ask it may remember less than another one. A member continues the clock that it
was told, and reports it while the store waits; see ``claims.record``.
"""

import signal
import time
from contextlib import ExitStack

import pytest

from tests.faults.fleet import UNHURRIED
from tests.servers.redis import Server, free_port, until
from tests.tools.proxy import Proxy

__all__: list[str] = []

FOUR = "sign:1=0 time:41 node:2 sequence:20 @10ms since 2025-01-01T00:00:00Z"


def repeats(fleet, behind_s, *, missed_s=2.5, confirmed=True, first="any", horizon="3s"):
    """How often IDs repeat after a failover.

    first: who asks the successor first, the member that was told of it last ("any"), a new process
    ("new"), or all but one that is stopped meanwhile ("stopped").
    """
    with ExitStack() as stack:
        primary, keen, slow = (stack.enter_context(Server(faked=True)) for _ in range(3))
        link, wire = (stack.enter_context(Proxy(primary.port)) for _ in range(2))
        for server in (keen, slow):
            server.step_clock(-behind_s)
        keen.replicate(primary)
        slow.replicate(link)
        options = f"?horizon={horizon}&timeout=500ms{'&replicas=1' if confirmed else ''}"
        url = f"redis://127.0.0.1:{wire.port}{options}"
        crowd = fleet(url, scheme=FOUR, timeout=UNHURRIED)
        crowd.start(3)
        time.sleep(1)
        link.target = free_port()
        link.cut()
        until(lambda: slow.info("replication")["master_link_status"] == "down", "a cut")
        time.sleep(missed_s)
        if first == "stopped":
            crowd.signal("w0", signal.SIGSTOP)
        wire.target = free_port()
        wire.cut()
        primary.kill()
        slow.promote()
        keen.replicate(slow)
        if first == "new":
            crowd.url = f"{slow.url}{options}"
            crowd.start(1, wait=False)
            time.sleep(1)
            crowd.url = url
        wire.target = slow.port
        time.sleep(0.3)
        if first == "stopped":
            time.sleep(1)
            crowd.signal("w0", signal.SIGCONT)
        crowd.start(2)
        crowd.progress()
        time.sleep(1 + behind_s)
        return crowd.repeats()


@pytest.mark.parametrize(
    "behind_s", [1, 4, *(pytest.param(s, marks=pytest.mark.long) for s in (2, 8))]
)
def test_a_confirmed_replica_that_is_behind(fleet, behind_s):
    assert repeats(fleet, behind_s) == 0


def test_a_replica_without_confirmation_that_lost_one_renewal(fleet):
    assert repeats(fleet, 1.5, missed_s=0.7, confirmed=False) == 0


@pytest.mark.parametrize("first", ["new", "stopped"])
def test_whoever_asks_first(fleet, first):
    assert repeats(fleet, 4, first=first) == 0
