"""Many tasks on one generator, whose loop goes on meanwhile; test_free_threading has threads."""

import json

from tests.canary import canary
from tests.processes.harness import count


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
