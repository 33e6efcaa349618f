"""``frazil`` with arguments, as a fixture."""

import pytest
from click.testing import CliRunner

from frazil.cli import main


@pytest.fixture
def call_main():
    """Run a command; returns what it printed."""

    def call(*arguments):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    return call
