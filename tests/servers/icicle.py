"""A caller of the script that issues IDs, as it would be in any language."""

import pytest
import redis

from frazil.remote.icicle.server import icicle_script

EPOCH_US = 1455788600316000


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
