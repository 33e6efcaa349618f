"""A server of each store is killed, frozen and emptied, and its clock stepped, under generators."""

import re

import pytest

from tests.faults.fleet import TWO_BY_DAY, UNHURRIED
from tests.servers.stores import KINDS, store
from tests.tools.waiting import until

# What the errors say of a server that is frozen.
FROZEN = {"postgresql": "no answer within 4 s", "mysql": "no answer within 4 s"}
FROZEN |= {"redis": "no answer in time", "etcd": "check that a majority of the cluster runs"}
TABLES = ("postgresql", "mysql")


def wait_for_an_end(crowd):
    """Wait for the end of a claim."""
    ended = crowd.errors().count("no claim since")
    until(lambda: crowd.errors().count("no claim since") > ended, "the end of a claim")


@TWO_BY_DAY
@pytest.mark.parametrize("kind", KINDS)
def test_killed_frozen_and_emptied(fleet, kind, scheme):
    with store(kind) as one:
        crowd = fleet(f"{one.url}?horizon=2s", scheme=scheme)
        crowd.start(3)
        one.kill()
        wait_for_an_end(crowd)
        one.start()
        crowd.progress()
        with one.frozen():
            wait_for_an_end(crowd)
            crowd.wait_for_error(FROZEN.get(kind, "no claim since"))
        crowd.progress()
        one.forget()
        if kind in TABLES:
            missing = rf"ConfigError.*frazil init .{kind}:.*table\.sql"
            until(lambda: re.search(missing, crowd.errors()), "an error")
            one.set_up()
        crowd.start(1)
        crowd.progress()
        assert crowd.repeats() == 0


@pytest.mark.parametrize("kind", ["redis", *TABLES])
def test_its_clock_stepped_back_and_forward(fleet, kind):
    with store(kind, clocked=True) as one:
        crowd = fleet(f"{one.url}?horizon=2s", timeout=UNHURRIED)
        crowd.start(2)
        one.step_clock(-3600)
        crowd.progress()
        crowd.start(1)
        one.step_clock(0)
        crowd.progress()
        assert crowd.errors() == ""
        one.step_clock(3600)  # no member believes it
        crowd.wait_for_error("ClockError")
        crowd.wait_for_error("correct the wrong one")
        one.step_clock(0)
        crowd.progress()
        assert crowd.repeats() == 0
