"""The incarnation of a server, alone and with replicas that confirm; on real servers."""

import pytest

from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server, until


@pytest.fixture(scope="module", params=FLAVOURS)
def trio(request):
    """A primary with two replicas."""
    with Server(request.param) as primary, Server(request.param) as a, Server(request.param) as b:
        for replica in (a, b):
            replica.replicate(primary)
        yield primary, a, b


@pytest.fixture
def confirmed(trio):
    """A namespace on it whose answers two replicas must confirm."""
    trio[0].client().flushall()
    caller = Caller(trio[0])
    caller.say("init", "", "", "", 7, "", "", 2, 1)
    return caller


def known_by(server, *, confirmed=False):
    """Return the expected incarnation, from the INFO of the server."""
    told = server.info("everything")
    parts = [told["run_id"], told["master_replid"]]
    if confirmed:
        parts += [told["sync_full"], told["sync_partial_ok"]]
    return ".".join(map(str, parts))


def ask(caller, verb="issue", replicas="", count=1):
    return caller.say(verb, "n", count, "", "", "", "", replicas)


class TestIncarnation:
    def test_alone(self, trio):
        assert Caller(trio[0]).say("incarnation", "n") == ["incarnation", "n", known_by(trio[0])]

    def test_of_an_answer_and_of_the_state(self, trio, confirmed):
        expected = known_by(trio[0], confirmed=True)
        assert ask(confirmed, replicas=2)[2] == confirmed.state()["incarnation"] == expected

    def test_a_returning_replica_is_another_history(self, trio, confirmed):
        before = int(ask(confirmed, replicas=2)[4])
        trio[2].promote()
        trio[2].replicate(trio[0])
        answer = ask(confirmed, replicas=2)
        assert answer[2] == known_by(trio[0], confirmed=True)
        assert len(answer) == 6  # behind a guard, one horizon ahead
        assert int(answer[4]) >= before
        assert 4e6 < int(answer[5]) <= 5.001e6


class TestHowMany:
    @pytest.mark.parametrize("replicas", [1, 2, 3])
    def test_no_fewer_than_half(self, trio, confirmed, replicas):
        """One of two is half, and the other cannot confirm without it. One of three is too few."""
        assert ask(confirmed, replicas=replicas)[0] == "ids"

    def test_fewer_than_half(self, trio, confirmed):
        with Server(trio[0].flavour) as third:
            third.replicate(trio[0])
            until(lambda: trio[0].info("replication")["connected_slaves"] == 3, "a third replica")
            assert "?replicas=" in confirmed.refused("REPLICAS", "issue", *[""] * 6, 1)
            assert "?replicas=" in confirmed.refused("REPLICAS", "init", "", "", "", 7, "", "", 1)
            assert ask(confirmed, replicas=2)[0] == "ids"
            # Who asks for no confirmation has no half to look after.
            alone = Caller(trio[0], "alone")
            alone.init()
            assert ask(alone)[0] == "ids"

    def test_all_must_agree_on_it(self, confirmed):
        assert "?replicas=" in confirmed.refused("CONFIRM", "issue")
        assert ask(confirmed, replicas=1)[0] == "ids"
