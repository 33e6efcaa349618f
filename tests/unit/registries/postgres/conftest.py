"""One server for the tests of this folder, and ``frazil`` with arguments."""

import pytest
from click.testing import CliRunner

from frazil.cli import main
from tests.servers.postgres import postgres


@pytest.fixture(scope="session")
def server():
    with postgres() as running:
        yield running


@pytest.fixture
def call_main():
    """Run a command; returns what it printed."""

    def call(*arguments):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    return call
