"""A Redis and a Valkey for the tests of a module, and a caller of the script that issues IDs."""

import pytest

from tests.servers.icicle import Caller
from tests.servers.redis import FLAVOURS, Server

__all__: list[str] = []


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
