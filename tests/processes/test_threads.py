"""Threads on one generator, and many tasks whose loop goes on meanwhile."""

import json

import pytest

import frazil
from tests.canary import canary
from tests.processes.harness import INTERPRETED, NARROW, count, errors, seen


def test_eight_threads(crew, place):
    n = 1_000_000 if frazil.COMPILED else 150_000
    said = crew.run("threads", url="memory:", scheme="icicle", threads=8, n=n)
    assert json.loads(said)["compiled"] == frazil.COMPILED
    assert errors(place) == []
    assert count(place) == (8 * n, 0)


@pytest.mark.parametrize(
    ("broken", "env"), [("shared", {}), ("unguarded", INTERPRETED)], ids=["shared", "unguarded"]
)
def test_this_test_can_see(crew, place, broken, env):
    order = {"url": "memory:", "scheme": NARROW, "threads": 8, "n": 50_000}
    assert seen(
        lambda out: crew.run("threads", env=env, broken=broken, out=str(out), **order), place
    )


def run(crew, place, broken=""):
    """50 tasks on a namespace whose first claim takes a second to come."""
    url = f"sqlite:{place}/claims.db"
    order = {"url": url, "scheme": "icicle", "tasks": 50, "n": 1000}
    return json.loads(crew.run("tasks", broken=broken, **order))


def test_50_tasks(crew, place):
    said = run(crew, place)
    assert said["cancelled"] == 20
    assert said["beats_before_the_first"] > 20
    assert count(place) == (50_000, 0)


@canary
def test_a_blocked_loop_is_noticed(crew, place):
    assert run(crew, place, broken="blocking")["beats_before_the_first"] < 20
