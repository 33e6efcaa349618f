"""Stores that are frozen (SIGSTOP): each call ends in time, and its error says what to check."""

import asyncio
import time

import pytest

import frazil
from frazil.errors import RegistryUnavailable
from tests.servers.stores import KINDS, store
from tests.tools.waiting import until

IN_TIME_S = 2.5  # the stores' own limits are longer


def refused(call):
    """The error of a call that ends in time."""
    began_s = time.monotonic()
    with pytest.raises(RegistryUnavailable) as caught:
        call()
    assert time.monotonic() - began_s < IN_TIME_S
    return str(caught.value)


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "etcd", "zookeeper"])
def test_each_call_says_so_in_time(kind):
    with store(kind) as one:
        url = one.url
        frazil.init(url, "tickets", namespace="t", new=True)
        frazil.init(url, namespace="i", new=True)
        with (
            frazil.open(url, "tickets", namespace="t", block=1, timeout=1) as tickets,
            frazil.open(url, namespace="i", timeout=1, keep=0) as ids,
        ):
            first = tickets(), ids()
            time.sleep(0.5)  # the claim of the idle generator is given back
            with one.frozen():
                setting_up = {"namespace": "i", "if_missing": True, "timeout": 1}
                assert "has not answered" in refused(lambda: frazil.init(url, **setting_up))
                for call in (tickets, ids):
                    assert "check that the server runs" in refused(call)
            assert tickets() > first[0]
            assert ids() > first[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_is_unready_before_its_ids_run_out(kind):
    """One generator is busy, one idle, and one belongs to an event loop."""
    with store(kind) as one:
        url = f"{one.url}?horizon=8s"
        frazil.init(url, new=True)
        busy, idle, awaited = frazil.open(url), frazil.open(url), frazil.aio.open(url)
        every = (busy, idle, awaited)

        async def begun():
            return await awaited()

        with busy, idle:
            idle(), asyncio.run(begun())

            def supplied():
                busy(), idle(), asyncio.run(begun())
                return all(ids.status().seconds_left > 5 for ids in every)

            until(supplied, "claims of nearly a horizon")
            assert not any(ids.status().why_unready() for ids in every)
            left = {}
            with one.frozen():
                while len(left) < len(every):
                    if busy not in left:
                        busy()
                    for ids in every:
                        if (status := ids.status()).why_unready():
                            left.setdefault(ids, status.seconds_left)
            assert all(left.values())
            until(lambda: not any(ids.status().why_unready() for ids in every), "green again")
            asyncio.run(awaited.aclose())
