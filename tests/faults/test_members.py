"""Faults of members: a pause beyond the claim, kill -9, a store that is unavailable for a while."""

import signal
import time
from contextlib import contextmanager

import pytest

import frazil
from tests.faults.fleet import TIGHT
from tests.servers.redis import Server
from tests.servers.stores import store
from tests.tools.beside import beside
from tests.tools.waiting import until


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


def test_no_stampede_when_the_store_is_back():
    """Forty waiting generators retry at different times, and all are served.

    A process that stands still retries late, all at once, so such an attempt counts for nothing.
    """
    began_s = time.monotonic()
    for _ in range(5):
        first, paused_s = returned()
        if paused_s < 0.5:
            break
    else:
        waited_s = time.monotonic() - began_s
        raise AssertionError(f"waited {waited_s:.0f} s for a machine that runs this process")
    # A stampede would take some milliseconds; a pause is between a sixteenth and an eighth of a
    # horizon of 4 s, by the server's clock.
    assert max(first) - min(first) > 0.15
    for moment in first:
        assert sum(moment <= other < moment + 0.1 for other in first) < 30


def returned():
    """When forty waiting generators called a server that is back; the longest pause meanwhile."""
    with Server("valkey", persistent=True) as server:
        # URLs that differ, so that each generator has a thread and a connection, as in a process.
        urls = [f"{server.url}?horizon=4s&timeout={500 + number}ms" for number in range(40)]
        wide = TIGHT.replace("node:1 sequence:21", "node:8 sequence:14")
        crowd = [frazil.open(url, wide, timeout="100ms") for url in urls]
        for ids in crowd:
            until(lambda one=ids: issues(one), "the first ID")
        server.kill()
        until(lambda: not any(issues(ids) for ids in crowd), "all to wait")
        time.sleep(3)
        with pytest.raises(frazil.errors.RegistryUnavailable, match="no claim since 20") as caught:
            crowd[0]()
        assert "check that it runs" in str(caught.value)
        with pauses() as paused_s:
            server.start()
            with server.client().monitor() as wire:
                for ids in crowd:
                    until(lambda one=ids: issues(one), "an ID after the outage")
                for ids in crowd:
                    ids.close()
                return first_words(wire, 40), max(paused_s)


@contextmanager
def pauses():
    """The times between two looks at the clock, a hundredth of a second apart if all goes well."""
    looks_s, last_s = [0.0], [time.monotonic()]

    def look():
        last_s.append(time.monotonic())
        looks_s.append(last_s[-1] - last_s[-2])

    with beside(look, 0.01):
        yield looks_s


def first_words(wire, count):
    """When each of ``count`` clients first called the script, by the server's clock."""
    first = {}
    while len(first) < count:
        said = wire.next_command()
        if said["command"].startswith(("EVALSHA", "EVAL ")):
            first.setdefault(said["client_port"], said["time"])
    return sorted(first.values())


def issues(ids):
    """Whether a generator has an ID now, or soon."""
    try:
        return ids() > 0
    except frazil.errors.TryLater:
        return False
