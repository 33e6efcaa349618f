"""Threads on one generator."""

import json

import pytest

import frazil
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
