"""SIGSTOP for longer than a claim, and than anything is given ahead; what waits is asleep."""

import os
import signal
import time

import numpy as np
import pytest

import frazil
from frazil.generator.kept_walk import KeptWalk
from tests.canary import canary
from tests.processes.harness import ONE_SLOT, count, errors, held, initialise, issued, size
from tests.tools.waiting import until


def pause(crew, place, url, broken=""):
    """One process is stopped, another gets its node number and works, the first goes on."""

    def start(name):
        worker = crew.start(
            "stream", broken=broken, url=url, scheme=ONE_SLOT, name=name, nap_s=0.001
        )
        until(lambda: size(place, name) > 100_000, f"{name} to be at work")
        return worker

    def more(*names):
        before = {name: size(place, name) for name in names}
        until(
            lambda: all(size(place, name) > before[name] + 100_000 for name in names),
            f"{names} to go on",
        )

    sleeper = start("sleeper")
    sleeper.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
    until(lambda: size(place, "sleeper") % 8 == 0, "a whole word")
    asleep = size(place, "sleeper")
    time.sleep(1.2)
    rival = start("rival")
    time.sleep(0.5)
    more("rival")
    assert size(place, "sleeper") == asleep
    last = int(issued(place, "rival.u64").max())
    sleeper.send_signal(signal.SIGCONT)
    more("sleeper", "rival")
    crew.stop(sleeper)
    crew.stop(rival)
    return asleep // 8, last


@pytest.mark.parametrize("kind", ["sqlite", "static"])
def test_another_took_over_meanwhile(crew, place, kind):
    url = {"sqlite": f"sqlite:{place}/c.db", "static": f"static:0?state={place}/c.db"}[kind]
    initialise(url, ONE_SLOT)
    asleep, last = pause(crew, place, url)
    assert errors(place) == []
    assert count(place)[1] == 0
    sleeper = issued(place, "sleeper.u64")
    assert sleeper[: asleep - 1].max() < issued(place, "rival.u64").min()
    assert np.count_nonzero(sleeper[asleep:] > last) > 0
    assert held(url, ONE_SLOT) == []


@canary
def test_this_test_can_see(crew, place):
    url = initialise(f"sqlite:{place}/c.db", ONE_SLOT)
    pause(crew, place, url, broken="lease")
    assert count(place)[1] > 0


# So few IDs a millisecond that making them takes next to nothing, on both engines.
FEW = "sign:1=0 time:41 node:8 sequence:4 @1ms since 2025-01-01T00:00:00Z"


def share(scheme, how="take"):
    """The share of a processor that this thread has while it asks as fast as it can."""
    with frazil.open("memory:", scheme, lead=0) as ids:
        ids.take(10)
        per_tick = ids.scheme.layout.sequences
        began_s, used_s = time.monotonic(), time.thread_time()
        while time.monotonic() < began_s + 2:
            if how == "take":
                ids.take(per_tick)
            else:
                for _ in range(per_tick):
                    ids()
        return (time.thread_time() - used_s) / (time.monotonic() - began_s)


@pytest.mark.skipif(not frazil.COMPILED, reason="interpreted there is nothing to wait for")
@pytest.mark.parametrize("how", ["calls", "take"])
def test_asleep_at_the_full_rate_of_the_default_scheme(how):
    assert share("icicle", how) < 0.9


def spin(walk, pause_ns, since_ns, patient=KeptWalk.wait):
    """Ask again and again whether it is time yet."""
    if pause_ns < 0:
        patient(walk, pause_ns, since_ns)
    while walk.pause_ns() > 0:
        pass


@canary
def test_the_waiting_thread_is_asleep(monkeypatch):
    """Beside one that spins, because what share that one gets is up to the machine's others."""
    asleep = share(FEW)
    monkeypatch.setattr(KeptWalk, "wait", spin)
    assert asleep < 0.5 * share(FEW)
