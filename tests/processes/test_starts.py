"""Many processes that start at one moment, on one file."""

import json

import pytest

from tests.processes.harness import NARROW, count, errors, initialise

__all__: list[str] = []

pytestmark = pytest.mark.processes


def start(crew, place, rounds, broken=""):
    url = initialise(f"sqlite:{place}/claims.db?busy=60s", NARROW)
    order = {"crowd": 64, "rounds": rounds, "n": 20_000}
    said = crew.run("crowd", broken=broken, url=url, scheme=NARROW, **order)
    return json.loads(said)["failed"]


def test_64_at_once_in_20_rounds(crew, place):
    assert start(crew, place, rounds=20) == 0
    assert errors(place) == []
    assert count(place) == (20 * 64 * 20_000, 0)


def test_64_at_once_on_a_file_that_is_not_there(crew, place):
    """Nobody has made the tables, and nobody has said that the namespace is new."""
    url = f"sqlite:{place}/new/claims.db?busy=60s"
    crew.run("crowd", url=url, scheme=NARROW, crowd=64, rounds=1, n=1000)
    assert errors(place) == []
    assert count(place) == (64_000, 0)


def test_this_test_can_see(crew, place):
    start(crew, place, rounds=1, broken="forgetful")
    assert count(place)[1] > 0
