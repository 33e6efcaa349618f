"""The script that issues IDs, spoken to as a caller in any language would, on real servers.

The defects of the published script, each with a test that shows they are gone, are marked E1.n.
"""

import json
import subprocess
import time
from pathlib import Path

import pytest
import redis

import frazil
from frazil.icicle.script import FUNCTION, icicle_library, icicle_script
from tests.needs import needs
from tests.servers.redis import FLAVOURS, Cluster, Server

__all__: list[str] = []

ICICLE = frazil.scheme("icicle")
EPOCH_US = 1455788600316000
HORIZON_US = 5_000_000
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "vectors" / "icicle.json").read_text(encoding="utf-8")
)["cases"]


class Caller:
    """One namespace of a server; answers are texts."""

    def __init__(self, server, namespace="test"):
        self.client = server.client(decode_responses=True)
        self.key = f"frazil:icicle:{{{namespace}}}"

    def say(self, *arguments):
        return self.client.eval(icicle_script().source, 1, self.key, *arguments)

    def init(self, shard=7, *, new=True):
        return self.say("init", "", "", "", shard, "", "", "", int(new))

    def issue(self, count=1, lead_us=0, shard="", seen_us="", witness_us=""):
        """Shard, top_us, wait_us and the IDs."""
        answer = self.say("issue", "n", count, lead_us, shard, seen_us, witness_us)
        assert answer[:2] == ["ids", "n"]
        spans = zip(map(int, answer[6::2]), map(int, answer[7::2]), strict=True)
        ids = [first + i for first, number in spans for i in range(number)]
        return int(answer[3]), int(answer[4]), int(answer[5]), ids

    def ids(self, count, lead_us=1_000_000):
        return self.issue(count, lead_us)[3]

    def state(self):
        return self.client.hgetall(self.key)

    def refused(self, code, *arguments):
        """Sees that it is refused with that code, and that nothing is changed."""
        before = self.client.type(self.key) == "hash" and self.state()
        with pytest.raises(redis.ResponseError, match=f"^ICICLE {code}: ") as caught:
            self.say(*arguments)
        assert before == (self.client.type(self.key) == "hash" and self.state())
        return str(caught.value)


def ticks(ids):
    return [n >> 22 for n in ids]


def cells(ids):
    return [((n >> 22), n & 4095) for n in ids]


@pytest.fixture(scope="module", params=FLAVOURS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture
def caller(server):
    caller = Caller(server)
    caller.client.flushall()
    caller.init()
    return caller


class TestGoldenValues:
    def test_each(self):
        """Of a server whose clock is behind, the kept reading is the time: so it can be chosen."""
        with Server(faked=True) as server:
            server.step_clock(EPOCH_US / 1e6 - time.time() - 1000)
            caller = Caller(server)
            caller.client.hset(caller.key, mapping={"incarnation": caller.say("incarnation")[2]})
            for case in GOLDEN:
                seconds, rest_us = case["redis_time"]
                state = dict.fromkeys(("tick", "guard", "offset", "top"), 0)
                state |= {"shard": case["shard"], "next": case["sequence"]}
                state |= {"last": seconds * 10**6 + rest_us}
                caller.client.hset(caller.key, mapping=state)
                assert caller.ids(1, 0) == [case["id"]]
                assert ICICLE.unpack(case["id"])["node"] == case["shard"]

    def test_before_the_first_tick(self):
        """E1.11: the published script answers negative numbers."""
        with Server(faked=True) as server:
            server.step_clock(EPOCH_US / 1e6 - time.time() - 100)
            assert "2016" in Caller(server).refused("CLOCK", "init", "", "", "", 1)

    def test_the_last_tick_of_all(self, caller):
        """E1.11: after it the sign bit would be set."""
        caller.client.hset(caller.key, mapping={"tick": (1 << 41) - 1, "next": 4094})
        last_us = EPOCH_US + ((1 << 41) - 1) * 1000
        caller.client.hset(caller.key, mapping={"last": last_us, "top": last_us})
        assert caller.ids(5)[-1] == (1 << 63) - 1 - (1023 - 7) * 4096
        assert "2085" in caller.refused("EXHAUSTED", "issue")


class TestIssuing:
    def test_cells_only_grow(self, caller):
        found = [n for _ in range(50) for n in caller.ids(777)]
        assert len(found) == 50 * 777
        assert cells(found) == sorted(set(cells(found)))
        assert {(n >> 12) & 1023 for n in found} == {7}

    def test_the_first_sequence_is_0(self, caller):
        """E1.10: the published one begins with 1."""
        assert caller.ids(1)[0] & 4095 == 0

    def test_the_sequence_goes_on_in_the_next_tick(self, caller):
        """So that ``id % n`` is even for those who ask seldom."""
        found = []
        for _ in range(5):
            found += caller.issue()[3]
            time.sleep(0.002)
        assert [n & 4095 for n in found] == [0, 1, 2, 3, 4]
        assert len(set(ticks(found))) == 5

    def test_time_is_the_servers(self, caller):
        (n,) = caller.ids(1)
        assert abs((n >> 22) * 1000 + EPOCH_US - time.time() * 1e6) < 1e6

    def test_a_batch_is_as_large_as_asked_for(self, caller):
        """E1.15: and crosses ticks in spans."""
        assert len(set(caller.ids(4_000_000))) == 4_000_000

    def test_without_lead_a_tick_and_no_more(self, caller):
        """E1.12: what is left, and when the next comes; nobody is locked out."""
        _, _, wait_us, found = caller.issue(10_000)
        assert len(found) == 4096
        assert 0 < wait_us <= 1000
        time.sleep(wait_us / 1e6)
        assert len(caller.issue(1)[3]) == 1

    def test_the_lead_is_a_bound(self, caller):
        before_us = int(time.time() * 1e6)
        _, _, wait_us, found = caller.issue(4_096_000, 20_000)
        after_us = int(time.time() * 1e6)
        assert before_us + 19_000 < max(ticks(found)) * 1000 + EPOCH_US <= after_us + 20_000
        assert 0 < wait_us <= 1000
        assert caller.issue(1)[2:] != (0, [])
        assert caller.issue(1)[3] == [] or time.time() * 1e6 > after_us + 19_000

    def test_nothing_given_nothing_kept(self, caller):
        caller.say("issue", "", 4_096_000, 1_000_000)
        before = caller.state()
        _, top_us, wait_us, found = caller.issue(5)
        assert (found, caller.state()) == ([], before)
        assert top_us == int(before["top"])
        assert 500_000 < wait_us <= 1_000_000

    def test_redis_cli_and_client_agree(self, server, caller):
        needs("redis-cli", "IDs through redis-cli")
        out = subprocess.run(
            ["redis-cli", "-p", str(server.port), "EVAL", icicle_script().source, "1"]
            + [caller.key, "issue", "n", "3"],
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
        assert out[0] == "ids"
        told = [int(out[6]) + i for i in range(3)]
        with frazil.open(f"icicle://127.0.0.1:{server.port}", namespace="test") as ids:
            ours = ids.take(3)
        one, other = (ICICLE.unpack(n[0]) for n in (told, ours))
        assert one["node"] == other["node"] == 7
        assert abs((one.moment - other.moment).total_seconds()) < 1
        assert not set(told) & set(ours)


class TestRefusals:
    @pytest.mark.parametrize(
        ("code", "arguments"),
        [
            ("VERB", ["steal"]),
            ("COUNT", ["issue", "", 0]),
            ("COUNT", ["issue", "", 4_096_001]),
            ("COUNT", ["issue", "", "-1"]),
            ("COUNT", ["issue", "", "1.5"]),
            ("COUNT", ["issue", "", "nan"]),
            ("LEAD", ["issue", "", 1, 1_000_001]),
            ("SHARD", ["issue", "", 1, 0, 1024]),
            ("TAKEN", ["issue", "", 1, 0, 8]),
            ("TAKEN", ["init", "", "", "", 8]),
            ("SHARD", ["init"]),
            ("NUMBER", ["issue", "", 1, 0, "", "x"]),
            ("NUMBER", ["issue", "", 1, 0, "", "", "x"]),
            ("NUMBER", ["issue", "", 1, 0, "", "", "", "-1"]),
        ],
    )
    def test_arguments(self, caller, code, arguments):
        caller.refused(code, *arguments)

    @pytest.mark.parametrize("shard", [-1, 1024, "", "x"])
    def test_no_such_shard(self, caller, shard):
        """E1.4: checked before anything is changed; nothing is burnt."""
        caller.client.flushall()
        caller.refused("SHARD", "init", "", "", "", shard)
        assert not caller.client.keys()

    @pytest.mark.parametrize("shard", [0, 1023])
    def test_the_first_and_the_last_shard(self, caller, shard):
        """E1.4: 0 is documented as valid, and was rejected."""
        caller.client.flushall()
        caller.init(shard)
        assert (caller.ids(1)[0] >> 12) & 1023 == shard

    def test_no_shard(self, caller):
        caller.client.flushall()
        assert "frazil init icicle://" in caller.refused("UNSET", "issue")

    def test_something_else_under_the_key(self, caller):
        caller.client.flushall()
        caller.client.set(caller.key, "mine")
        assert "choose another namespace" in caller.refused("KEY", "issue")

    def test_another_layout(self, caller):
        caller.client.hset(caller.key, "layout", "time:42 node:10 sequence:12")
        assert "time:42 node:10" in caller.refused("LAYOUT", "issue")

    @pytest.mark.parametrize("field", ["next", "shard", "tick", "top"])
    def test_a_state_that_is_none(self, caller, field):
        """E1.10: a stored sequence of 5000 was answered with an empty batch, and a crash."""
        caller.client.hset(caller.key, field, {"next": 5000, "shard": 2000}.get(field, "x"))
        assert "frazil init" in caller.refused("STATE", "issue")

    def test_init_twice_is_once(self, caller):
        before = caller.ids(10)
        assert caller.init()[3] == "7"
        assert not set(before) & set(caller.ids(10))


def step(server, seconds):
    """Set its clock; a server that looks at it only now and then gets the time to."""
    server.step_clock(seconds)
    time.sleep(0.2)


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

    def test_an_offset_shrinks(self, faked):
        server, caller = faked
        step(server, 1)
        caller.ids(1)
        step(server, 0)
        caller.ids(1)
        before = int(caller.state()["offset"])
        time.sleep(0.4)
        caller.ids(1)
        assert 40_000 < before - int(caller.state()["offset"]) < 300_000

    def test_far_ahead_needs_a_witness(self, faked):
        server, caller = faked
        step(server, 3600)
        now_us = int(time.time() * 1e6)
        caller.refused("CLOCK", "issue", "", 1, 0, "", "", now_us)
        step(server, 0)
        assert caller.issue(witness_us=now_us)[3]
        step(server, 3600)
        assert caller.issue(witness_us=now_us + 3600 * 10**6)[3]


def seconds_to_wait(caller, **how):
    """How long a server says that it has nothing, in seconds."""
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
            assert 4 < seconds_to_wait(caller) <= 5.1
            assert "ids" in caller.say("issue", "", 1, 1_000_000)
            time.sleep(5.1)
            assert caller.issue()[3][0] > max(before)

    def test_a_first_use_waits(self, caller):
        caller.client.flushall()
        caller.init(new=False)
        assert 4 < seconds_to_wait(caller) <= 5.1

    def test_an_emptied_server_that_is_told_its_shard(self, caller):
        """E1.13: FLUSHALL is no outage where the URL has the shards."""
        caller.client.flushall()
        assert 4 < seconds_to_wait(caller, shard=7) <= 5.1
        assert caller.state()["shard"] == "7"

    def test_a_caller_who_has_seen_more(self, caller):
        """Emptied while its clock was behind: what callers saw is all that is left."""
        seen_us = int(time.time() * 1e6) + 30_000_000
        assert 34 < seconds_to_wait(caller, seen_us=seen_us) <= 35.1
        assert 34 < seconds_to_wait(caller, seen_us=seen_us) <= 35.1
        assert 34 < seconds_to_wait(caller) <= 35.1

    def test_what_is_told_is_not_more_than_is_kept(self, caller):
        """Else each caller's memory would look like a loss to the server."""
        for _ in range(200):
            _, top_us, wait_us, _ = caller.issue(3000)
            assert wait_us < 1000
            assert caller.issue(seen_us=top_us)[2] < 1000
            assert top_us <= int(caller.state()["top"])

    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_promoted_replica(self, flavour):
        """E1.3: it has the same shard, and goes on where the old one cannot have been."""
        with Server(flavour) as primary, Server(flavour) as replica:
            caller, other = Caller(primary), Caller(replica)
            caller.init()
            replica.replicate(primary)
            caller.ids(64)
            with pytest.raises(redis.ReadOnlyError):
                other.issue()
            time.sleep(0.2)
            replica.promote()
            assert 4 < seconds_to_wait(other) <= 5.1
            time.sleep(4.2)
            assert not set(caller.ids(100_000)) & set(other.issue(100_000, 1_000_000)[3])


class TestElsewhere:
    @pytest.mark.parametrize("flavour", FLAVOURS)
    def test_a_cluster(self, flavour):
        """E1.9: a declared key with a hash tag, and a sequence of its own for each namespace."""
        with Cluster(flavour) as cluster:
            for namespace in ("a", "b", "c", "d"):
                home = cluster.home(f"frazil:icicle:{{{namespace}}}")
                caller = Caller(home, namespace)
                caller.init(3)
                assert len(caller.ids(5000)) == 5000

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
            with pytest.raises(redis.ResponseError, match="^ICICLE COUNT: "):
                call("issue", "", 0)
            server.restart()  # it is not persistent, so the library is gone with everything else
