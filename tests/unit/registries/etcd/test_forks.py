"""Forks and etcd: a child never says a word on its parent's connection."""

import os
import secrets
import socket
from collections import Counter
from contextlib import suppress

import pytest

import frazil
from tests.tools.beside import beside
from tests.tools.proxy import Proxy
from tests.tools.verbs import new


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


def test_children_of_a_busy_parent_beside_each_other(cluster):
    """The original failure: a busy parent, and pairs of children, in a small namespace."""
    name = f"storm-{secrets.token_hex(4)}"
    scheme = frazil.scheme("sign:1=0 time:41 node:6 sequence:6 @1ms since 2025-01-01")
    url = f"{cluster.url}?horizon=200ms"
    new(url, name, scheme)
    ids = frazil.open(url, scheme, namespace=name, timeout=20)
    ids()
    found, failed = [], 0
    here, there = os.pipe()
    with beside(lambda: found.extend(ids.take(3)), 0.001):
        for _ in range(12):
            children = [_child(ids, there) for _ in range(4)]
            failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
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
