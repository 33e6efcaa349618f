"""Forks and etcd: a child never says a word on its parent's connection.

Two processes that share a connection read each other's answers. A child has a copy of its parent's
registry, and of what that has kept: also of the state of a namespace in which members wait for
each other, in which a verb begins with a ticket and not with a step.
"""

import os
import secrets
import socket
import threading
from collections import Counter
from contextlib import suppress

import pytest

import frazil
from frazil.claims.claim import Claim, LastSeen, Snapshot
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.doctor import StoreReport
from tests.tools.proxy import Proxy

ICICLE = frazil.scheme("icicle")


class Heard(Proxy):
    """Counts what each connection says."""

    def __init__(self, target):
        super().__init__(target)
        self.heard = Counter()

    def _carry_requests(self, wire):
        with suppress(OSError):
            while chunk := wire.client.recv(1 << 16):
                self.heard[wire] += len(chunk)
                wire.server.sendall(chunk)
            wire.server.shutdown(socket.SHUT_WR)
        self._end(wire, "requests")


@pytest.fixture
def wire(cluster):
    with Heard(cluster.members[0].port) as wire:
        yield wire


def crowded(cluster, wire, name):
    """A registry that knows of members waiting for their turn."""
    registry = connect(f"etcd://127.0.0.1:{wire.port}", name, ICICLE)
    registry.initialise(ask_of(LastSeen()), 0)
    for _ in range(3):
        cluster.members[0].ask("kv/put", {"key": registry._tail, "value": ""})
    other = connect(f"etcd://127.0.0.1:{wire.port}", name, ICICLE)
    other.mint(ask_of(LastSeen()), 1)
    assert other._crowded()
    return other


VERBS = {
    "mint": (lambda registry: registry.mint(ask_of(LastSeen()), 1), Claim),
    "grant": (lambda registry: registry.grant(ask_of(LastSeen()), 5), Claim),
    "look": (lambda registry: registry.look(), Snapshot),
    "examine": (lambda registry: registry.examine(), StoreReport),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_child_has_a_connection_of_its_own(cluster, wire, verb, depth):
    registry = crowded(cluster, wire, f"forks-{secrets.token_hex(4)}")
    call, kind = VERBS[verb]
    before = wire.heard.copy()
    child = os.fork()
    if child == 0:
        good = False
        with suppress(BaseException):
            while depth > 1:
                depth -= 1
                if grandchild := os.fork():
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
            good = isinstance(call(registry), kind)
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert {one: wire.heard[one] for one in before} == dict(before)
    assert len(wire.heard) > len(before)
    assert isinstance(call(registry), kind)


def test_children_of_a_busy_parent_beside_each_other(cluster):
    """The original failure: a busy parent, and pairs of children, in a small namespace."""
    name = f"storm-{secrets.token_hex(4)}"
    scheme = frazil.scheme("sign:1=0 time:41 node:6 sequence:6 @1ms since 2025-01-01")
    url = f"{cluster.url}?horizon=200ms"
    connect(url, name, scheme).initialise(ask_of(LastSeen()), 0)
    ids = frazil.open(url, scheme, namespace=name, timeout=20)
    ids()
    over = threading.Event()
    found = []

    def go_on():
        while not over.wait(0.001):
            found.extend(ids.take(3))

    thread = threading.Thread(target=go_on)
    thread.start()
    here, there = os.pipe()
    failed = 0
    for _ in range(12):
        children = [_child(ids, there) for _ in range(4)]
        failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
    over.set()
    thread.join()
    os.close(there)
    with os.fdopen(here) as told:
        theirs = [int(line) for line in told]
    ids.close()
    assert failed == 0
    assert len(theirs) == 12 * 4 * 20
    assert len({*found, *theirs}) == len(found) + len(theirs)


def _child(ids, there):
    """A child that needs 20 IDs, now."""
    child = os.fork()
    if child == 0:
        status = 1
        with suppress(BaseException):
            os.write(there, b"".join(b"%d\n" % n for _ in range(5) for n in ids.take(4)))
            status = 0
        os._exit(status)
    return child
