"""The script when servers restart or lose data, and replicas take over; on real servers.

The defects of the published script, each with a test that shows they are gone, are marked E1.n.
"""

import time

import pytest
import redis

from frazil.generator.request import make_request
from frazil.remote.icicle.calls import configure_icicle
from frazil.remote.icicle.server import FUNCTION, IcicleServer, icicle_library
from frazil.system.steps import run
from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server
from tests.tools.waiting import until


def served(server):
    """A caller as frazil has it, with a memory."""
    request = make_request(f"icicle://127.0.0.1:{server.port}", "icicle", namespace="test")
    return IcicleServer(configure_icicle(request).accesses[0], "test", 7)


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


def seconds_to_wait(caller, **how):
    """Return for how many seconds a server says that it has no IDs."""
    _, _, wait_us, found = caller.issue(**how)
    assert found == []
    return wait_us / 1e6


class TestLoss:
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


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_library_of_functions(flavour):
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
