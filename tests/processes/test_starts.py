"""Many processes that start at one moment, on one file."""

import json

import pytest

from tests.canary import canary
from tests.processes.harness import WIDE, count, errors, initialise


def start(crew, quick, rounds, broken=""):
    url = initialise(f"sqlite:{quick}/claims.db?busy=60s", WIDE)
    order = {"crowd": 64, "rounds": rounds, "n": 5000}
    said = crew.run("crowd", broken=broken, url=url, scheme=WIDE, **order)
    return json.loads(said)["failed"]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.nightly)])
def test_64_at_once(crew, place, quick, rounds):
    assert start(crew, quick, rounds) == 0
    assert errors(place) == []
    assert count(place) == (rounds * 64 * 5000, 0)


def test_64_at_once_on_a_file_that_is_not_there(crew, place):
    """Nobody has made the tables, and nobody has said that the namespace is new."""
    (place / "new").mkdir()
    url = f"sqlite:{place}/new/claims.db?busy=60s"
    crew.run("crowd", url=url, scheme=WIDE, crowd=64, rounds=1, n=1000)
    assert errors(place) == []
    assert count(place) == (64_000, 0)


@canary
def test_this_test_can_see(crew, place, quick):
    start(crew, quick, rounds=1, broken="forgetful")
    assert count(place)[1] > 0
