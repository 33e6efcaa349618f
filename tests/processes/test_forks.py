"""Copies of a process are other owners, however they end."""

import json

from tests.canary import canary
from tests.processes.harness import NARROW, ONE_SLOT, count, errors, initialise

ORDER = {"first": 512_000, "n": 20_000, "lead": "4s"}


def forked_in_c(crew, place, quick, broken=""):
    """Children and their children, made in C; how many IDs there are, and how many repeat."""
    url = initialise(f"sqlite:{quick}/claims.db?horizon=5s", NARROW)
    crew.run("lineage", broken=broken, url=url, scheme=NARROW, how="by_c", **ORDER)
    return count(place)


def test_forks_in_c(crew, place, quick):
    """No hook of Python runs. Every other way to make a child is a fault of torture."""
    assert forked_in_c(crew, place, quick) == (512_000 + 3 * 20_000, 0)
    assert errors(place) == []


@canary
def test_what_only_hooks_would_notice_is_seen(crew, place, quick):
    assert forked_in_c(crew, place, quick, broken="hooks")[1] > 0


def ends(crew, place, quick, broken=""):
    """Children end in all the ways there are, in a pool of one; what is then held, and repeated."""
    url = initialise(f"sqlite:{quick}/claims.db?horizon=5s", ONE_SLOT)
    said = crew.run("lineage", broken=broken, url=url, scheme=ONE_SLOT, how="by_exits", **ORDER)
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
