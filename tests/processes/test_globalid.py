"""GlobalId's own test at its full size and beyond: as many generators as it has nodes."""

import json

import frazil
from tests.canary import canary
from tests.processes.harness import count


def test_1024_generators(crew, place):
    requests = 50_000 if frazil.COMPILED else 10_000
    order = {"generators": 1024, "requests": requests, "n": 10_000}
    said = json.loads(crew.run("globalid", url="memory:", scheme="globalid", **order))
    print(f"{said['per_second']:,} IDs/s from one node")  # noqa: T201 - a figure, no verdict
    assert count(place) == (requests + 1024 * 10_000 + 100_000, 0)


@canary
def test_this_test_can_see(crew, place):
    order = {"generators": 16, "requests": 5_000, "n": 10_000}
    crew.run("globalid", broken="forgetful", url="memory:", scheme="globalid", **order)
    assert count(place)[1] > 0
