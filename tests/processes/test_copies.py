"""A generator sent to another process, and copied in this one."""

import json

from tests.processes.harness import NARROW, count, initialise, seen


def test_a_copy_has_a_claim_of_its_own(crew, place):
    url = initialise(f"sqlite:{place}/claims.db?horizon=5s", NARROW)
    said = json.loads(crew.run("copies", url=url, scheme=NARROW, lead="5s", n=20_000))
    assert len(said["slots"]) > 1
    assert count(place) == (60_000, 0)


def test_a_claim_that_travels_is_seen(crew, place):
    def attempt(alone):
        url = initialise(f"sqlite:{alone}/claims.db?horizon=5s", NARROW)
        order = {"url": url, "scheme": NARROW, "lead": "5s", "n": 20_000}
        crew.run("copies", broken="carried", out=str(alone), **order)

    assert seen(attempt, place)
