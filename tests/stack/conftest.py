"""A PostgreSQL for the tests of each module, with an empty database for each test."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.servers.postgres import Postgres, postgres

NUMBERS = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        yield running


@pytest.fixture
def database(server: Postgres) -> str:
    """The address of a new database: ``postgres@127.0.0.1:port/name``."""
    name = f"app{next(NUMBERS)}"
    server.sql(f"CREATE DATABASE {name}")
    return f"postgres@127.0.0.1:{server.port}/{name}"
