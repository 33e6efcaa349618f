"""What a caller is told when no claim is to be had, and that IDs go on by themselves."""

import re
import threading
import time
from contextlib import suppress

import pytest

import frazil
from frazil.errors import PoolExhausted, RegistryUnavailable
from frazil.keeper import Keeper
from frazil.registries import memory
from frazil.registries.memory import MemoryRegistry

WIDE = "sign:1=0 time:39 node:4 sequence:20 @1ms since 2025-01-01T00:00:00Z"


def opened(url, scheme=WIDE, **options):
    return frazil.open(url, scheme, **{"lead": "1s"} | options)


def until_it_stops(ids):
    """The error with which it stops."""
    while True:
        try:
            ids()
        except RegistryUnavailable as error:
            return error


def soon(ids):
    """The next ID, when there is one again."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(RegistryUnavailable, PoolExhausted):
            return ids()
    raise AssertionError("30 s, and no ID")


@pytest.fixture
def away(monkeypatch):
    class Away:
        down = False

    original = MemoryRegistry.step

    def step(self):
        if Away.down:
            raise RegistryUnavailable("gone", url=self.url, outcome_known=True)
        return original(self)

    monkeypatch.setattr(MemoryRegistry, "step", step)
    return Away


def test_the_claim_goes_on_and_then_it_says_since_when(url, away):
    with opened(url, timeout="300ms") as ids:
        ids()
        away.down = True
        caught = until_it_stops(ids)
        assert re.search("no claim since .*gone", str(caught))
        assert caught.outcome_known
        away.down = False
        assert soon(ids)


def test_the_registry_answers_again_while_a_caller_is_told(url):
    """The keeper's thread forgets its trouble between two words of the sentence."""
    told = [RegistryUnavailable("gone", url="memory:", outcome_known=True)]

    class Forgetful(Keeper):
        trouble = property(lambda _: told.pop() if told else None, lambda _, __: None)

    with opened(url) as ids:
        ids.keeper.__class__ = Forgetful
        assert re.search("no claim since .*gone", str(ids.keeper.complaint(1.0)))


def test_a_silent_one_is_no_crowded_one(url, monkeypatch):
    answers = threading.Event()
    original = MemoryRegistry.step
    with opened(url, timeout="100ms") as ids:
        monkeypatch.setattr(
            MemoryRegistry, "step", lambda self: answers.wait(30) and original(self)
        )
        with pytest.raises(RegistryUnavailable, match="not answered") as caught:
            ids()
        assert not caught.value.outcome_known
        answers.set()
        assert soon(ids)


def test_a_claim_ahead_of_the_clock_is_no_crowd(url):
    with frazil.open(url + "?horizon=10min", WIDE, timeout="300ms") as ids:
        message = ""
        while "ahead of the clock" not in message:
            with pytest.raises(PoolExhausted) as caught:
                ids()
            message = str(caught.value)


def test_a_crowded_pool_says_so(url):
    node = "sign:1=0 time:41 node:1 sequence:21 @1ms since 2025-01-01T00:00:00Z"
    holders = [opened(url, node) for _ in range(2)]
    for ids in holders:
        ids()
    key = holders[0]._registry._key
    for n in (0, 1):  # both given away as far as can be
        record = memory._records[key]
        slot = record.slots.get(n)
        record.slots.put(n, type(slot)(slot.until + 10**9, slot.start, slot.token))
    with opened(url, node, timeout="200ms") as late, pytest.raises(PoolExhausted) as caught:
        late()
    assert "all 2 node numbers" in str(caught.value)
    for ids in holders:
        ids.close()
