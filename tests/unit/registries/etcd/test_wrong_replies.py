"""Wrong answers to requests: repeated, those to other requests, and those of other servers."""

import http.client
import json
import secrets
import socket
from contextlib import suppress

import pytest

from frazil.errors import RegistryUnavailable
from frazil.registries import connect
from frazil.registries.etcd import registry as etcd
from tests.tools.proxy import Proxy
from tests.tools.verbs import ONE_RECORD, mint, new

NOT_AN_ANSWER = "the answer does not match the request"


def packet(body):
    """An answer over HTTP with that body."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


class Strange(Proxy):
    """Answers with ``instead``, ``times`` times. ``last`` is the last answer of the server."""

    def __init__(self, target):
        super().__init__(target)
        self.last = self.instead = b""
        self.times = 0

    def _carry_replies(self, wire):
        with suppress(OSError):
            while chunk := wire.server.recv(1 << 16):
                self.last = chunk
                if self.times:
                    self.times -= 1
                    chunk = self.instead
                wire.client.sendall(chunk)
            wire.client.shutdown(socket.SHUT_WR)
        self._end(wire, "replies")

    def say(self, instead, times=1 << 30):
        """Answer with that from now on, or ``times`` times."""
        self.instead, self.times = instead, times

    def heard(self, path, body):
        """The server's answer to a request, in bytes."""
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        asking.request("POST", f"/v3/{path}", json.dumps(body))
        asking.getresponse().read()
        asking.close()
        return self.last


@pytest.fixture
def wire(cluster, monkeypatch):
    monkeypatch.setattr(etcd, "_PATIENCE_S", 0.2)
    with Strange(cluster.members[0].port) as wire:
        yield wire


@pytest.fixture
def registry(wire):
    """A registry that has read the state before, so that a verb begins with a write."""
    name = f"strangers-{secrets.token_hex(4)}"
    registry = new(f"etcd://127.0.0.1:{wire.port}", name)
    mint(registry)
    return registry


OTHERS = {
    "of a put": ("kv/put", {"key": "eA=="}),
    "of a look at the member": ("maintenance/status", {}),
    "of a read": ("kv/range", {"key": "eA=="}),
    "of another transaction": ("kv/txn", {"success": [{"request_range": {"key": "eA=="}}]}),
}
NONE = ["null", "[]", "{}", "7", '"x"', "no JSON", '{"header": 1, "responses": [1, 2]}']


@pytest.mark.parametrize("which", [*OTHERS, *NONE])
def test_another_answer_is_rejected(wire, registry, which):
    wire.say(wire.heard(*OTHERS[which]) if which in OTHERS else packet(which))
    with pytest.raises(RegistryUnavailable, match=NOT_AN_ANSWER) as caught:
        mint(registry)
    assert caught.value.outcome_known is False
    for look in (registry.look, registry.examine):
        with pytest.raises(RegistryUnavailable, match=NOT_AN_ANSWER) as caught:
            look()
        assert caught.value.outcome_known
    wire.say(b"", 0)
    assert registry.look().holdings
    assert mint(registry).seen.revision >= 2


@pytest.mark.parametrize("first", ["read", "write"])
def test_a_new_connections_question_for_the_log(wire, first):
    """A transaction over a new connection is followed by a question, whose answer may be none."""
    name = f"strangers-{secrets.token_hex(4)}"
    new(f"etcd://127.0.0.1:{wire.port}", name)
    registry = connect(f"etcd://127.0.0.1:{wire.port}", name, ONE_RECORD)
    if first == "write":
        mint(registry)
        wire.cut()
    wire.say(wire.heard("kv/txn", {"success": etcd.look([registry.key()])}))
    with pytest.raises(RegistryUnavailable, match=NOT_AN_ANSWER):
        mint(registry)
    wire.say(b"", 0)
    mint(registry)


def test_a_read_of_the_same_key_is_not_a_successful_write(wire, registry):
    """Another member wrote first, and the reply is the answer to a member that has read that."""
    other = connect(registry.url, registry.namespace, ONE_RECORD)
    taken = mint(other)
    wire.say(wire.heard("kv/txn", {"success": etcd.look([registry.key()])}), 1)
    claim = mint(registry)
    assert wire.times == 0
    assert claim.seen.revision == taken.seen.revision + 1
    assert (claim.slot, claim.start) != (taken.slot, taken.start)


def test_a_ticket_is_drawn_again(wire, registry):
    wire.say(wire.heard("kv/txn", {"success": etcd.look([registry.key()])}), 1)
    registry._queue(registry.key(), 0.0)
    assert wire.times == 0
    assert registry.key().ticket > 0
