"""Faults of members: a pause beyond the claim, and kill -9."""

import signal
import time

import pytest

from tests.servers.stores import store


@pytest.mark.parametrize("kind", ["redis", "postgresql", "etcd"])
def test_paused_beyond_the_claim(fleet, kind):
    with store(kind) as one:
        crowd = fleet(f"{one.url}?horizon=2s")
        crowd.start(3)
        for paused in ("w0", "w1"):
            crowd.signal(paused, signal.SIGSTOP)
        time.sleep(6)
        crowd.start(1)
        crowd.progress(["w2", "w3"])
        for paused in ("w0", "w1"):
            crowd.signal(paused, signal.SIGCONT)
        crowd.progress()
        assert crowd.repeats() == 0


@pytest.mark.parametrize("kind", ["redis", "postgresql", "etcd"])
def test_killed_and_started_again(fleet, kind):
    with store(kind) as one:
        crowd = fleet(f"{one.url}?horizon=2s")
        crowd.start(3)
        for number in range(6):
            crowd.signal(f"w{number}", signal.SIGKILL)
            crowd.start(1)
        assert crowd.repeats() == 0
