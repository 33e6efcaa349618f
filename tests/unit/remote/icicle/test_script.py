"""The script that issues IDs, called as from any language, on real servers.

What it issues, when it waits and how it counts is compared with a model in
``tests/property/test_icicle_model.py``, on clocks and losses of all kinds.

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


def test_golden_values():
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


def test_redis_cli_and_client_agree(server, caller):
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
            ("COUNT", ["issue", "", "-1"]),
            ("COUNT", ["issue", "", "1.5"]),
            ("COUNT", ["issue", "", "nan"]),
            ("SHARD", ["init"]),
            ("SHARD", ["init", "", "", "", -1]),
            ("SHARD", ["init", "", "", "", "x"]),
            ("NUMBER", ["issue", "", 1, 0, "", "x"]),
            ("NUMBER", ["issue", "", 1, 0, "", "", "x"]),
            ("NUMBER", ["issue", "", 1, 0, "", "", "", "-1"]),
        ],
    )
    def test_arguments(self, caller, code, arguments):
        caller.refused(code, *arguments)

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
