"""Copies of a process are other owners: forks, however they were made and end, and pickles."""

import json

import pytest

from tests.canary import canary
from tests.processes.harness import NARROW, ONE_SLOT, count, errors, initialise

WAYS = [
    ("by_python", 1, "", "blind"),
    ("by_python", 3, "", "blind"),
    ("by_c", 1, "", "blind"),
    ("by_c", 2, "", "hooks"),
    ("by_multiprocessing", 2, "fork", "blind"),
    ("by_multiprocessing", 1, "spawn", "carried"),
]

ORDER = {"first": 512_000, "n": 20_000, "lead": "4s"}


@pytest.fixture
def url(quick):
    return initialise(f"sqlite:{quick}/claims.db?horizon=5s", NARROW)


@pytest.mark.parametrize(("how", "depth", "method", "broken"), WAYS)
def test_every_way_to_make_a_child(crew, place, url, how, depth, method, broken):
    crew.run("lineage", url=url, scheme=NARROW, **ORDER, how=how, depth=depth, method=method)
    assert errors(place) == []
    issued, repeats = count(place)
    assert issued >= 512_000 + 20_000 * (depth + 1)
    assert repeats == 0


@canary
@pytest.mark.parametrize(("how", "depth", "method", "broken"), WAYS)
def test_every_way_is_seen(crew, place, url, how, depth, method, broken):
    order = ORDER | {"how": how, "depth": depth, "method": method}
    crew.run("lineage", broken=broken, url=url, scheme=NARROW, **order)
    assert count(place)[1] > 0


def ends(crew, place, quick, broken=""):
    """Children end in all the ways there are, in a pool of one; what is then held, and repeated."""
    url = initialise(f"sqlite:{quick}/claims.db?horizon=5s", ONE_SLOT)
    order = ORDER | {"how": "by_exits", "depth": 1}
    said = crew.run("lineage", broken=broken, url=url, scheme=ONE_SLOT, **order)
    return json.loads(said)["held"], count(place)


def test_a_child_releases_nothing(crew, place, quick):
    held, counted = ends(crew, place, quick)
    assert errors(place) == []
    assert held == [0]
    assert counted == (552_000, 0)


@canary
def test_a_child_that_releases_is_seen(crew, place, quick):
    _, (_, repeats) = ends(crew, place, quick, broken="child_releases")
    assert repeats > 0


def test_a_fork_beside_threads_that_work_out_layouts(crew, quick):
    """A lock that another thread held would be held in the child for ever."""
    order = {"url": f"sqlite:{quick}/claims.db", "scheme": NARROW, "forks": 60, "patience_s": 30}
    assert json.loads(crew.run("unlocked", **order)) == {"hung": 0}
