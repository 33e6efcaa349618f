"""The choice of servers, the pauses and the final error, with a simulated clock."""

from itertools import combinations

import pytest

from frazil.errors import ClockError, ConfigError, PoolExhausted, RegistryUnavailable
from frazil.remote.icicle import pool as pool_module
from frazil.remote.icicle.pool import ATTEMPTS, Asking, Pool
from frazil.remote.icicle.server import Issued

AWAY = RegistryUnavailable("away", outcome_known=True)


class World:
    """A pool of simulated servers; time passes only while a call waits."""

    def __init__(self, *names, timeout_s=10.0):
        self.now_s = 100.0
        self.does = dict.fromkeys(names)
        self.asked = []
        self.naps = []
        servers = [(name, name) for name in names]
        self.pool = Pool(servers, timeout_s, 1.0, lambda: self.now_s)

    def call(self, count=1):
        """Make one call, and return how many IDs it got."""
        turn = self.pool.attempts()
        got = 0
        while got < count:
            step = turn.step()
            if isinstance(step, float):
                assert step > 0
                self.naps.append(step)
                self.now_s += step
                continue
            assert isinstance(step, Asking)
            name = step.standing.server
            self.asked.append(name)
            does = self.does[name]
            if isinstance(does, Exception):
                turn.failed(step.standing, does)
                continue
            shard = list(self.does).index(name)
            given = does(count - got) if does else Issued(shard, 1, 0, ((1, count - got),))
            turn.given(step.standing, given)
            got += sum(number for _, number in given.spans)
        return got

    def waiting(self, name, seconds):
        """Let a server have no IDs for some seconds."""
        ready_s = self.now_s + seconds
        shard = list(self.does).index(name)

        def does(count):
            wait_us = int((ready_s - self.now_s) * 1e6)
            return Issued(shard, 1, max(wait_us, 0), () if wait_us > 0 else ((1, count),))

        self.does[name] = does


def test_left_out_longer_each_time_and_back():
    """E1.8: a dead server gets no part of the calls."""
    world = World("a", "b")
    world.does["a"] = AWAY
    for _ in range(1000):
        world.call()
        world.now_s += 0.02
    assert 4 <= world.asked.count("a") <= 20
    world.does["a"] = None
    world.now_s += 5
    world.asked.clear()
    for _ in range(10):
        world.call()
    assert world.asked.count("a") == 5


def test_five_attempts_with_growing_pauses():
    """E1.7: the pauses grow, have jitter, and none comes after the last attempt."""
    naps = []
    for _ in range(50):
        world = World("a")
        world.does["a"] = AWAY
        with pytest.raises(RegistryUnavailable, match="away"):
            world.call()
        assert len(world.asked) == ATTEMPTS
        assert len(world.naps) == ATTEMPTS - 1
        assert world.naps == sorted(world.naps)
        assert 0.05 <= world.naps[0] <= 0.1
        naps.append(world.naps[0])
    assert len(set(naps)) > 40


def test_the_error_has_every_reason():
    world = World("a", "b", "c")
    world.does.update(a=AWAY, b=ClockError("b is late"), c=ConfigError("no shard"))
    with pytest.raises(RegistryUnavailable, match=r"(?s)away.*b is late.*no shard") as caught:
        world.call()
    assert set(caught.value.reasons) == {"a", "b", "c"}


@pytest.mark.parametrize("kind", [ConfigError, ClockError])
def test_a_refusal_is_not_tried_again(kind):
    """E1.5, E1.6."""
    world = World("a", "b")
    world.does.update(a=kind("a: no"), b=kind("b: no"))
    with pytest.raises(kind, match=r"(?s)a: no.*b: no"):
        world.call()
    assert sorted(world.asked) == ["a", "b"]
    assert world.naps == []


class TestWaiting:
    def test_a_request_that_succeeds_later(self):
        """An error that no wait until the deadline can avoid is raised at once."""
        world = World("a", timeout_s=2.0)
        world.waiting("a", 5.0)
        with pytest.raises(PoolExhausted, match=r"nothing for the next 5.0 s") as caught:
            world.call()
        assert world.naps == []
        assert caught.value.retry_after_s == pytest.approx(5.0, abs=0.1)


class TestDeadline:
    def test_each_attempt_gets_what_is_left(self):
        world = World("a", "b", timeout_s=3.0)
        turn = world.pool.attempts()
        assert turn.step().within_s == 3.0
        world.now_s += 2
        assert turn.step().within_s == 1.0
        world.now_s += 2
        with pytest.raises(RegistryUnavailable):
            turn.step()


class TestShards:
    def test_one_shard_for_two_servers_is_refused(self):
        world = World("a", "b")
        world.does["a"] = world.does["b"] = lambda count: Issued(3, 1, 0, ((1, count),))
        world.call()
        for _ in range(3):
            with pytest.raises(ConfigError, match="both have shard 3") as caught:
                world.call()
            assert caught.value.shard == 3
            assert not world.pool.checked

    def test_a_shard_that_another_thread_notes_while_they_are_compared(self, monkeypatch):
        pool = World("a", "b").pool
        one, other = pool.standings

        def interrupted(*arguments):
            monkeypatch.undo()
            with pytest.raises(ConfigError, match="both have shard 3"):
                pool.note(other, 3)
            return combinations(*arguments)

        monkeypatch.setattr(pool_module, "combinations", interrupted)
        pool.note(one, 3)
        assert not pool.checked
        with pytest.raises(ConfigError, match="both have shard 3"):
            pool.note(one, 3)


class TestReasonsOfServersThatAreLeftOut:
    def test_the_last_error_until_it_answers(self):
        world = World("a", "b")
        world.does["a"] = world.does["b"] = AWAY
        with pytest.raises(RegistryUnavailable):
            world.call()
        said = str(world.pool.attempts().failure())
        assert said.count("away (not asked again, because it failed a moment ago)") == 2
        world.does["a"] = world.does["b"] = None
        world.now_s += 10
        world.call(2)
        assert [each.failed for each in world.pool.standings].count("away") == 1
