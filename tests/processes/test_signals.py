"""Signal handlers while an ID is being made: they ask for one, or raise an exception.

Only some handlers find the interpreter between two certain lines. So the same is done once more
without a signal, at every bytecode (``workers/thrown.py``).
"""

import json

import pytest

import frazil
from tests.canary import canary
from tests.processes.harness import INTERPRETED, NARROW, WIDE, count, initialise, issued

SLACK_MS = 20_000


def test_handler_asks_while_one_is_made(crew, place):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    said = json.loads(crew.run("signals", url=url, scheme=WIDE, seconds=4))
    assert said["compiled"] == frazil.COMPILED
    assert said["handled"] > 100
    issued, repeats = count(place)
    assert issued > 100_000
    assert repeats == 0


@canary
def test_this_test_can_see(crew, place):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    order = {"url": url, "scheme": WIDE, "seconds": 3}
    env = {**INTERPRETED, "PYTHONOPTIMIZE": "1"}  # else an assertion of the walk may come first
    for _ in range(5):  # a signal has to come between two certain lines
        crew.run("signals", env=env, broken="unguarded", **order)
        if count(place)[1]:
            return
    raise AssertionError("no repeat was seen")


def test_a_handler_raises_while_one_is_made(crew, place):
    """As Ctrl-C does, an alarm, or the time limit of a task queue."""
    url = initialise(f"sqlite:{place}/claims.db", NARROW)
    said = json.loads(crew.run("alarms", url=url, scheme=NARROW, seconds=4))
    assert said["compiled"] == frazil.COMPILED
    assert said["raised"] > 100
    made, repeats = count(place)
    assert made > 10_000
    assert repeats == 0
    times = issued(place) >> 16
    assert said["began_ms"] - SLACK_MS < times.min()
    assert times.max() < said["ended_ms"] + SLACK_MS


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        *(("raises", kind) for kind in ("plain", "random start", "wide", "run", "counter")),
        *(("asks", kind) for kind in ("plain", "run", "counter")),
    ],
)
def test_a_handler_at_every_bytecode(crew, handler, kind):
    said = json.loads(crew.run("thrown", kind=kind, handler=handler))
    assert said["compiled"] == frazil.COMPILED
    assert said["bytecodes"]["restart_after_fork"] > 10
    assert said["bytecodes"]["take_ready"] > (10 if said["compiled"] else 200)
