"""Calls of the command in a test: in this process, or in a child process."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from frazil.cli import main
from tests.needs import lacks

__all__ = ["call", "plain_terminal", "process", "refused"]

Call = Callable[..., Result]
START = "from frazil.cli import main; main(prog_name='frazil')"


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns, no forced or forbidden colour, UTC, and the registry of this host."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def call() -> Call:
    """``call("mint", "-n", "3")``; errors that are not shown as messages fail the test."""

    def run(*args: str, stdin: str | bytes = "") -> Result:
        result = CliRunner().invoke(main, args, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if reason := lacks(result.output):
            pytest.skip(reason)
        return result

    return run


@pytest.fixture
def refused(call: Call) -> Callable[..., str]:
    """``refused(2, "mint", "300")``: what is said, in one line, when a call ends with this code."""

    def told(code: int, *args: str, stdin: str | bytes = "") -> str:
        result = call(*args, stdin=stdin)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    return told


@pytest.fixture
def process() -> Callable[..., subprocess.Popen[bytes]]:
    """``process("mint")``: the command in a child process, with its output in pipes."""

    def start(*args: str, **options: object) -> "subprocess.Popen[bytes]":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen([sys.executable, "-c", START, *args], **pipes)

    return start
