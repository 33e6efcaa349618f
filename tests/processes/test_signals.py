"""A signal handler that asks for IDs while one is being made."""

import json

import pytest

import frazil
from tests.processes.harness import INTERPRETED, WIDE, count, initialise

__all__: list[str] = []

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("pure", [False, True], ids=["default", "interpreted"])
def test_handler_asks_while_one_is_made(crew, place, pure):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    env = INTERPRETED if pure else {}
    said = json.loads(crew.run("signals", env=env, url=url, scheme=WIDE, seconds=4))
    assert said["compiled"] == (frazil.COMPILED and not pure)
    assert said["handled"] > 100
    issued, repeats = count(place)
    assert issued > 100_000
    assert repeats == 0


def test_this_test_can_see(crew, place):
    url = initialise(f"sqlite:{place}/claims.db", WIDE)
    order = {"url": url, "scheme": WIDE, "seconds": 3}
    for _ in range(5):  # a signal has to come between two certain lines
        crew.run("signals", env=INTERPRETED, broken="unguarded", **order)
        if count(place)[1]:
            return
    raise AssertionError("no repeat was seen")
