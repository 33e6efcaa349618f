"""A Redis for the tests of a module."""

import pytest

from tests.servers.redis import Server


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        yield server
