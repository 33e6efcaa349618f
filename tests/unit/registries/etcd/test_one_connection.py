"""One connection to etcd for all registries of a process: its checks, losses and forks."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from frazil.errors import ConfigError
from tests.tools.descriptors import descriptors_to
from tests.tools.forks import child
from tests.tools.proxy import Proxy
from tests.tools.verbs import mint
from tests.unit.registries.one_connection import OneConnection, open_some


@pytest.fixture
def wire(cluster):
    with Proxy(cluster.members[0].port) as wire:
        yield wire


@pytest.fixture
def url(wire):
    return f"etcd://127.0.0.1:{wire.port}"


class TestOneConnection(OneConnection):
    """See the kit."""


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


def test_a_child_holds_no_copy_of_a_connection_in_use(wire, url):
    """Else the server would not notice the end of the parent."""
    (registry,) = open_some(url, 1)
    with registry._links.taken():  # as inside a verb
        assert len(descriptors_to(wire.port)) == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(child, lambda: not descriptors_to(wire.port)).result() == 0
