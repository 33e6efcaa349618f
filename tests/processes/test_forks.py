"""Copies of a process are other owners: forks, however they were made and end, and pickles."""

import json
import os
import signal
from array import array
from contextlib import suppress

import pytest

import frazil
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


def test_forks_at_random_moments(crew, place, quick):
    url = initialise(f"sqlite:{quick}/claims.db", "icicle")
    n = 100_000 if frazil.COMPILED else 20_000
    said = crew.run("forks", url=url, scheme="icicle", forks=100, n=n)
    assert errors(place) == []
    assert json.loads(said) == {"failed": 0}
    assert count(place, "child-*.u64") == (100 * n, 0)
    assert count(place, "parent.u64") == (100 * n, 0)
    assert count(place)[1] == 0


@canary
def test_forks_unnoticed_are_seen(crew, place, quick):
    url = initialise(f"sqlite:{quick}/claims.db", "icicle")
    crew.run("forks", broken="blind", url=url, scheme="icicle", forks=5, n=20_000)
    assert count(place)[1] > 0


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


def calls(place):
    """By name: what gathers many IDs, 4,096 of them a millisecond."""
    url = initialise(f"sqlite:{place}/claims.db", "icicle")
    return {
        "take": lambda: frazil.open(url).take(600_000),
        "array": lambda: frazil.open(url).array(600_000),
        "mint": lambda: frazil.mint(200_000, url),
    }


@pytest.mark.parametrize("how", ["take", "array", "mint"])
def test_a_signal_handler_forks_in_the_middle_of_a_call(tmp_path, how):
    """Parent and child go on in the same call, which had gathered IDs already."""
    children = []
    call = calls(tmp_path)[how]
    found = array("Q")
    before = signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
    signal.setitimer(signal.ITIMER_REAL, 0.04)
    try:
        found.extend(call())
    finally:
        signal.signal(signal.SIGALRM, before)
        if children == [0]:
            with suppress(BaseException):
                (tmp_path / "child").write_bytes(found.tobytes())
            os._exit(0)
    os.waitpid(children[0], 0)
    theirs = array("Q", (tmp_path / "child").read_bytes())
    assert len(children) == 1
    assert len({*found, *theirs}) == len(found) + len(theirs) == 2 * len(found)


def test_a_fork_beside_threads_that_work_out_layouts(crew, quick):
    """A lock that another thread held would be held in the child for ever."""
    order = {"url": f"sqlite:{quick}/claims.db", "scheme": NARROW, "forks": 60, "patience_s": 30}
    assert json.loads(crew.run("unlocked", **order)) == {"hung": 0}
