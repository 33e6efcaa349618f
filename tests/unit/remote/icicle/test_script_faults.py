"""The script when clocks step, servers lose data, and replicas take over; on real servers.

The defects of the published script, each with a test that shows they are gone, are marked E1.n.
"""

import time

import pytest
import redis

from frazil.minting import make_request
from frazil.remote.icicle.calls import configure_icicle
from frazil.remote.icicle.server import FUNCTION, IcicleServer, icicle_library
from frazil.system.steps import run
from tests.servers.icicle import Caller, cells
from tests.servers.redis import FLAVOURS, Server
from tests.tools.waiting import until


def served(server):
    """A caller as frazil has it, with a memory."""
    request = make_request(f"icicle://127.0.0.1:{server.port}", "icicle", namespace="test")
    return IcicleServer(configure_icicle(request).accesses[0], "test", 7)


def step(server, seconds):
    """Set the clock, and wait until the server has read it."""
    server.step_clock(seconds)

    def is_set():
        told_s, told_us = (int(part) for part in server.do("TIME"))
        return abs(told_s + told_us / 1e6 - time.time() - seconds) < 0.4

    until(is_set, "its clock")


@pytest.mark.parametrize("continues", [True, False])
def test_who_asks_first_after_a_loss_may_have_been_silent_for_long(continues, monkeypatch):
    """Others got IDs since; and the clock of the successor is behind."""
    with Server(faked=True) as server:
        Caller(server).init()
        seldom, often = (served(server) for _ in range(2))
        run(seldom.issuing(1, 0, 5))
        time.sleep(6)
        [(last, _)] = run(often.issuing(1, 0, 5)).spans
        server.kill()
        server.step_clock(-9)
        server.start()
        if not continues:
            monkeypatch.setattr(seldom, "_ahead_us", 0)
        assert not run(seldom.issuing(1, 0, 5)).spans
        assert (int(Caller(server).state()["guard"]) > last >> 22) is continues


class TestClock:
    @pytest.fixture
    def faked(self):
        with Server(faked=True) as server:
            caller = Caller(server)
            caller.init()
            yield server, caller

    @pytest.mark.parametrize("step_s", [-2.1, -7.9, -100])
    def test_a_step_back(self, faked, step_s):
        """E1.1: neither a repeat nor an outage."""
        server, caller = faked
        found = [n for _ in range(200) for n in caller.ids(64)]
        step(server, step_s)
        for _ in range(2000):
            given = caller.ids(64)
            assert len(given) == 64
            found += given
        assert cells(found) == sorted(set(cells(found)))

    def test_forward_and_corrected(self, faked):
        """E1.2: no outage after it."""
        server, caller = faked
        step(server, 60)
        found = caller.ids(5)
        step(server, 0)
        for _ in range(20):
            found += caller.issue()[3]
            time.sleep(0.002)
        assert len(found) == 25
        assert cells(found) == sorted(set(cells(found)))
        assert int(caller.state()["offset"]) > 59e6


def seconds_to_wait(caller, **how):
    """Return for how many seconds a server says that it has no IDs."""
    _, _, wait_us, found = caller.issue(**how)
    assert found == []
    return wait_us / 1e6


class TestLoss:
    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_restart_waits_once(self, flavour):
        with Server(flavour, persistent=True) as server:
            caller = Caller(server)
            caller.init()
            before = caller.ids(5_000)
            server.restart()
            assert 0 < seconds_to_wait(caller) <= 5.1
            assert "ids" in caller.say("issue", "", 1, 1_000_000)
            until(lambda: caller.issue()[3] and caller.issue()[3][0] > max(before), "an ID")

    def test_a_first_use_waits(self, caller):
        caller.client.flushall()
        caller.init(new=False)
        assert 0 < seconds_to_wait(caller) <= 5.1

    def test_an_emptied_server_gets_its_shard_from_the_caller(self, caller):
        """E1.13: after FLUSHALL, a URL with the shards restores them."""
        caller.client.flushall()
        assert 0 < seconds_to_wait(caller, shard=7) <= 5.1
        assert caller.state()["shard"] == "7"

    def test_a_caller_that_has_seen_more(self, caller):
        """A server without its data, whose clock is behind, learns the time from its callers."""
        seen_us = int(time.time() * 1e6) + 30_000_000
        assert 10 < seconds_to_wait(caller, seen_us=seen_us) <= 35.1
        assert 10 < seconds_to_wait(caller, seen_us=seen_us) <= 35.1
        assert 10 < seconds_to_wait(caller) <= 35.1

    def test_the_report_has_no_more_than_the_record(self, caller):
        """Otherwise the memory of each caller would look like a loss to the server."""
        for _ in range(200):
            _, top_us, wait_us, _ = caller.issue(3000)
            assert wait_us <= 1000
            assert caller.issue(seen_us=top_us)[2] <= 1000
            assert top_us <= int(caller.state()["top"])

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_promoted_replica(self, flavour):
        """E1.3: it has the same shard, and continues after all IDs of the old primary."""
        with Server(flavour) as primary, Server(flavour) as replica:
            caller, other = Caller(primary), Caller(replica)
            caller.init()
            before = caller.ids(100_000)
            replica.replicate(primary)
            with pytest.raises(redis.ReadOnlyError):
                other.issue()
            until(lambda: other.state() == caller.state(), "the replica")
            replica.promote()
            assert 0 < seconds_to_wait(other) <= 5.1
            after = until(lambda: other.ids(100_000), "its IDs")
            assert max(before) < min(after)

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_replica_that_takes_writes(self, flavour):
        """It has the shard of its primary, so both would issue the same IDs."""
        with Server(flavour) as primary, Server(flavour) as replica:
            caller, other = Caller(primary), Caller(replica)
            replica.replicate(primary)
            caller.init()
            replica.do("CONFIG", "SET", "replica-read-only", "no")
            for verb in ("issue", "init"):
                with pytest.raises(redis.ReadOnlyError):
                    other.say(verb, "", 1, 0, 7)
            assert other.say("look")
            assert caller.issue()[3]


class TestElsewhere:
    def test_namespaces_are_apart(self, server, caller):
        other = Caller(server, "other")
        other.init(8)
        assert caller.ids(3)[0] & 4095 == other.ids(3)[0] & 4095 == 0

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_library_of_functions(self, flavour):
        """The same text, the same state, the same answers and refusals."""
        with Server(flavour) as server:
            caller = Caller(server)
            caller.client.function_load(icicle_library())
            caller.init()

            def call(*arguments):
                return caller.client.fcall(FUNCTION, 1, caller.key, *arguments)

            (before,) = caller.ids(1)
            answer = call("issue", "n", 2, 1_000_000)
            assert answer[:2] == ["ids", "n"]
            assert int(answer[6]) > before
            assert answer[7] == "2"
            (after,) = caller.ids(1)
            assert after > int(answer[6]) + 1
            with pytest.raises(redis.ResponseError, match=r"^ICICLE COUNT: "):
                call("issue", "", 0)
