"""The script that issues IDs under any clock, any loss, any restored state: no ID comes twice.

It runs on a real server as it stands, but for two readings that are put in from here: the server's
clock and its incarnation. So a random history needs no waiting, and can be told exactly.
"""

import secrets
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from frazil.remote.icicle.server import icicle_script
from tests.servers.redis import Server

BEGIN_US = 1_800_000_000_000_000
CLOCK = "local clock = redis.call('TIME')"
INCARNATION = "local plain_length, connected = #incarnation, 0"
GUARD = "guard = math.max(guard, math.floor("


def told(source: str) -> str:
    """The script with clock and incarnation from its last arguments."""
    assert source.count(CLOCK) == source.count(INCARNATION) == 1
    source = source.replace(CLOCK, "local clock = { 0, ARGV[12] }")
    return source.replace(INCARNATION, f"incarnation = 'i' .. ARGV[13]\n{INCARNATION}")


class Histories(RuleBasedStateMachine):
    """One server's life. Its callers remember what they were told."""

    client: Any
    source: str

    def __init__(self) -> None:
        super().__init__()
        self.key = f"frazil:icicle:{{{secrets.token_hex(6)}}}"
        self.clock_us = BEGIN_US
        self.incarnation = 0
        self.seen_us = 0
        self.given: set[int] = set()
        self.last = (-1, -1)
        self.kept: list[dict[bytes, bytes]] = []
        self.ask("init", 1, 0, new=1)

    def ask(self, verb: str, count: int, lead_us: int, new: int = 0) -> list[bytes]:
        about = (count, lead_us, 6, self.seen_us, "", 0, new, "", "")
        about += (self.clock_us, self.incarnation)
        reply: list[bytes] = self.client.evalsha(self.sha(), 1, self.key, verb, "", *about)
        self.seen_us = max(self.seen_us, int(reply[4]))
        return reply

    def sha(self) -> str:
        cached = getattr(type(self), "_sha", None)
        if cached is None:
            cached = type(self)._sha = self.client.script_load(self.source)
        return cached

    @rule(count=st.integers(1, 20_000), lead_us=st.integers(0, 1_000_000))
    def issue(self, count: int, lead_us: int) -> None:
        reply = self.ask("issue", count, lead_us)
        ahead = self.clock_us + int(self.client.hget(self.key, "offset")) + lead_us
        got = 0
        for first, number in zip(map(int, reply[6::2]), map(int, reply[7::2]), strict=True):
            ids = range(first, first + number)
            assert self.given.isdisjoint(ids), "an ID came twice"
            self.given.update(ids)
            assert (first >> 22, first & 4095) > self.last
            self.last = first >> 22, (first & 4095) + number - 1
            assert self.last[1] <= 4095
            assert (first >> 12) & 1023 == 6
            assert (first >> 22) * 1000 + 1455788600316000 <= ahead
            got += number
        assert got <= count
        assert got == count or int(reply[5]) > 0

    @rule(passed_us=st.integers(0, 3_000_000))
    def time_passes(self, passed_us: int) -> None:
        self.clock_us += passed_us

    @rule(step_us=st.integers(-3_600_000_000, 3_600_000_000))
    def the_clock_steps(self, step_us: int) -> None:
        self.clock_us += step_us

    @rule()
    def a_copy_is_made(self) -> None:
        self.kept += filter(None, [self.client.hgetall(self.key)])

    @rule()
    def it_restarts_with_all_its_data(self) -> None:
        self.incarnation += 1

    @rule()
    def it_restarts_with_nothing(self) -> None:
        self.incarnation += 1
        self.client.delete(self.key)

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def it_restarts_with_an_old_copy(self, data: Any) -> None:
        self.incarnation += 1
        old = data.draw(st.sampled_from(self.kept))
        self.client.delete(self.key)
        self.client.hset(self.key, mapping=old)

    def teardown(self) -> None:
        self.client.delete(self.key)


def run(source: str, examples: int) -> None:
    with Server() as server:
        about = {"client": server.client(), "source": told(source)}
        machine = type("Histories", (Histories,), about)
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=30,
                    deadline=None,
                    database=None,
                    phases=[Phase.generate],  # what is found is told as it is, and at once
                    suppress_health_check=[HealthCheck.too_slow],  # it talks to a server
                ),
            )
        finally:
            about["client"].close()


def test_no_history_repeats_an_id():
    run(icicle_script().source, 150)


def broken(old: str, new: str) -> bool:
    """Whether a script with one thing changed is found out."""
    source = icicle_script().source
    assert source.count(old) == 1
    try:
        run(source.replace(old, new), 300)
    except (AssertionError, redis.ResponseError):
        return True
    return False


def test_a_script_without_guard_is_found():
    assert broken(GUARD, "guard = math.min(0, math.floor(")


def test_a_script_that_believes_the_clock_is_found():
    assert broken("tick = math.max(tick, guard, ", "tick = math.max(guard, ")


def emptied_while_its_clock_is_behind(source: str) -> None:
    """The one history that chance seldom finds: the very cell again, after the guard."""
    with Server() as server:
        about = {"client": server.client(), "source": told(source)}
        history = type("Histories", (Histories,), about)()
        history.issue(count=1, lead_us=0)
        history.the_clock_steps(step_us=-10_000_000)
        history.it_restarts_with_nothing()
        history.issue(count=1, lead_us=0)
        history.time_passes(passed_us=10_000_000)
        history.issue(count=1, lead_us=0)
        about["client"].close()


def test_replies_that_callers_saw_are_kept():
    source = icicle_script().source
    emptied_while_its_clock_is_behind(source)
    careless = source.replace(
        "math.max(reading_us, now_us, top_us, seen_us, continued_us)", "reading_us"
    )
    assert careless != source
    with pytest.raises(AssertionError, match="an ID came twice"):
        emptied_while_its_clock_is_behind(careless)


def test_a_clock_that_is_set_right_leaves_nothing_in_the_future():
    """A host without a battery boots in 1970, and twice would be enough to end the layout."""
    with Server() as server:
        about = {"client": server.client(), "source": told(icicle_script().source)}
        history = type("Histories", (Histories,), about)()
        for _ in range(3):
            history.issue(count=1, lead_us=0)
            history.clock_us -= BEGIN_US
            history.issue(count=1, lead_us=0)
            history.clock_us += BEGIN_US + 1_000_000
            history.issue(count=1, lead_us=0)
            assert history.client.hget(history.key, "offset") == b"0"
            assert history.given
        about["client"].close()
