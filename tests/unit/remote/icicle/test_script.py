"""The script that issues IDs, called as from any language, on real servers.

The defects of the published script, each with a test that shows they are gone, are marked E1.n.
"""

import json
import subprocess
import time
from pathlib import Path

import pytest

import frazil
from frazil.remote.icicle.server import icicle_script
from tests.needs import needs
from tests.servers.icicle import EPOCH_US, Caller
from tests.servers.redis import Server
from tests.tools.verbs import ICICLE

GOLDEN = json.loads(
    (Path(__file__).parents[3] / "vectors" / "icicle.json").read_text(encoding="utf-8")
)["cases"]


class TestGoldenValues:
    def test_each(self):
        """A server whose clock is behind uses its stored time, so a test can choose it."""
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
        """E1.11: the published script returns negative numbers."""
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
    def test_the_first_sequence_is_0(self, caller):
        """E1.10: the published one begins with 1."""
        assert caller.ids(1)[0] & 4095 == 0

    def test_time_is_the_servers(self, caller):
        (n,) = caller.ids(1)
        assert abs((n >> 22) * 1000 + EPOCH_US - time.time() * 1e6) < 60e6

    def test_a_batch_has_the_requested_size(self, caller):
        """E1.15: and crosses ticks in spans."""
        assert len(set(caller.ids(400_000))) == 400_000

    def test_without_lead_a_tick_and_no_more(self, caller):
        """E1.12: the rest of the IDs, and the time of the next ones; no caller is locked out."""
        _, _, wait_us, found = caller.issue(10_000)
        assert len(found) == 4096
        assert 0 < wait_us <= 1000
        time.sleep(wait_us / 1e6)
        assert len(caller.issue(1)[3]) == 1

    def test_nothing_issued_nothing_stored(self, caller):
        caller.say("issue", "", 4_096_000, 1_000_000)
        before = caller.state()
        _, top_us, wait_us, found = caller.issue(5)
        assert (found, caller.state()) == ([], before)
        assert top_us == int(before["top"])
        assert 0 < wait_us <= 1_000_000

    def test_redis_cli_and_client_agree(self, server, caller):
        needs("redis-cli", "IDs through redis-cli")
        command = ["redis-cli", "-p", str(server.port), "EVAL", icicle_script().source, "1"]
        command += [caller.key, "issue", "n", "3"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        out = done.stdout.split()
        assert out[0] == "ids"
        told = [int(out[6]) + i for i in range(3)]
        with frazil.open(f"icicle://127.0.0.1:{server.port}", namespace="test") as ids:
            ours = ids.take(3)
        one, other = (ICICLE.unpack(n[0]) for n in (told, ours))
        assert one["node"] == other["node"] == 7
        assert abs((one.moment - other.moment).total_seconds()) < 60
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
        """E1.4: arguments are checked before any change, so no ID is lost."""
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

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            *[(field, "x") for field in ("tick", "next", "guard", "last", "offset", "top")],
            *[("next", -1), ("next", 4096), ("next", 5000)],
            *[("shard", -1), ("shard", 1024), ("shard", "x")],
        ],
    )
    def test_an_invalid_state(self, caller, field, value):
        """E1.10: the published script returned an empty batch for a stored sequence of 5000."""
        caller.client.hset(caller.key, field, value)
        assert "frazil init" in caller.refused("STATE", "issue")

    def test_a_state_without_its_shard(self, caller):
        caller.client.hdel(caller.key, "shard")
        assert "frazil init" in caller.refused("STATE", "issue", "", 1, 0, 7)

    def test_a_state_without_its_incarnation_is_a_loss(self, caller):
        caller.client.hdel(caller.key, "incarnation")
        _, _, wait_us, found = caller.issue()
        assert not found
        assert wait_us > 4_000_000

    def test_init_twice_is_once(self, caller):
        before = caller.ids(10)
        assert caller.init()[3] == "7"
        assert not set(before) & set(caller.ids(10))
