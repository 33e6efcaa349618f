"""A caller who must wait sleeps."""

import json

import pytest

import frazil

__all__: list[str] = []

pytestmark = pytest.mark.processes


def run(crew, how, broken=""):
    order = {"url": "memory:", "scheme": "icicle", "how": how, "seconds": 2, "lead": 0}
    said = json.loads(crew.run("waiting", broken=broken, **order))
    print(how, said)  # noqa: T201 - figures, for whoever looks
    return said["of_the_processor"]


def test_the_waiting_thread_is_asleep(crew):
    if frazil.COMPILED:  # interpreted, making them one by one leaves nothing to wait for
        assert run(crew, "calls") < 0.9
    assert run(crew, "take") < 0.5 * run(crew, "take", broken="spinning")
