"""A caller who must wait sleeps."""

import json

import pytest

import frazil
from tests.canary import canary

# So few IDs a millisecond that making them takes next to nothing, on both engines.
FEW = "sign:1=0 time:41 node:8 sequence:4 @1ms since 2025-01-01T00:00:00Z"


def run(crew, how, scheme, broken=""):
    """The share of a processor that the thread had, which asks as fast as it can."""
    order = {"url": "memory:", "scheme": scheme, "how": how, "seconds": 2, "lead": 0}
    said = json.loads(crew.run("waiting", broken=broken, **order))
    print(how, scheme, broken, said)  # noqa: T201 - figures, for whoever looks
    return said["of_the_processor"]


@pytest.mark.skipif(not frazil.COMPILED, reason="interpreted there is nothing to wait for")
@pytest.mark.parametrize("how", ["calls", "take"])
def test_asleep_at_the_full_rate_of_the_default_scheme(crew, how):
    assert run(crew, how, "icicle") < 0.9


@canary
def test_the_waiting_thread_is_asleep(crew):
    """Beside one that spins, because what share that one gets is up to the machine's others."""
    assert run(crew, "take", FEW) < 0.5 * run(crew, "take", FEW, broken="spinning")
