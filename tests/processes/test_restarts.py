"""kill -9 and a start anew, while the host's clock is set back."""

import random
import signal
import time

import pytest

from tests.canary import canary
from tests.needs import needs
from tests.processes.harness import WIDE, clock_set_to, count, errors, size
from tests.tools.waiting import until

# The clock stands at one of these when a process starts: each second start finds it an hour back,
# and every moment of the hour before comes again.
CLOCKS = ["2026-03-01 13:00:00", "2026-03-01 12:00:00"]


def live_and_die(crew, place, url, times, broken="", age_s=0.0):
    """Start, let it issue for a moment, and up to an age, kill; again and again."""
    for life in range(times):
        born = time.monotonic()
        worker = crew.start(
            "stream",
            env=clock_set_to(CLOCKS[life % 2]),
            broken=broken,
            url=url,
            scheme=WIDE,
            name=f"life-{life}",
            lead="1s" if life % 10 == 9 else 0,
            nap_s=0,
        )
        ended = worker.poll  # the test will find why
        until(lambda: ended() is not None or size(place, f"life-{life}"), "an ID")  # noqa: B023
        time.sleep(max(random.uniform(0, 0.1), born + age_s - time.monotonic()))
        worker.send_signal(signal.SIGKILL)
        worker.wait()


def urls(place):
    return {"sqlite": f"sqlite:{place}/claims.db", "static": f"static:5?state={place}/static.db"}


@pytest.mark.parametrize("lives", [12, pytest.param(50, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", ["sqlite", "static"])
def test_restarts_with_the_clock_an_hour_back(crew, place, kind, lives):
    needs("libfaketime", "a host clock that is stepped back")
    live_and_die(crew, place, urls(place)[kind], lives)
    assert errors(place) == []
    assert all((place / f"life-{life}.u64").stat().st_size for life in range(lives))
    assert count(place)[1] == 0


@canary
@pytest.mark.parametrize("kind", ["sqlite", "static"])
def test_this_test_can_see(crew, place, kind):
    needs("libfaketime", "a host clock that is stepped back")
    for age_s in (2, 5, 15, 30):  # lives on one clock must have a moment in common
        live_and_die(crew, place, urls(place)[kind], 4, broken="forgetful", age_s=age_s)
        if count(place)[1]:
            return
    pytest.fail("no repeat")
