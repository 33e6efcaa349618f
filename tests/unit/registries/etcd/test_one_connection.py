"""One connection to etcd for all registries of a process: its checks, losses and forks."""

import os
import secrets
from contextlib import suppress

import pytest

import frazil
from frazil.errors import ConfigError
from tests.tools.beside import beside
from tests.tools.trickle import Trickle
from tests.tools.verbs import mint, new
from tests.unit.registries.one_connection import OneConnection, open_some


@pytest.fixture
def wire(cluster):
    with Trickle(cluster.members[0].port) as wire:
        yield wire


@pytest.fixture
def url(wire):
    return f"etcd://127.0.0.1:{wire.port}"


class TestOneConnection(OneConnection):
    patience = "frazil.registries.etcd.registry._PATIENCE_S"


def test_a_reconnection_during_a_request_that_is_refused_is_noticed(wire, url, monkeypatch):
    """The driver reconnects silently; the next answer is from another connection."""
    (registry,) = open_some(url, 1)
    with registry._links.taken() as link:
        number = link.connection
        wire.cut()
        with pytest.raises(ConfigError):
            link.post("auth/authenticate", {"name": "x", "password": "y"}, dict)
    mint(registry)
    with registry._links.taken() as link:
        assert link.connection > number


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
