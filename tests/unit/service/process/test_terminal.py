"""``frazil serve`` on a terminal, a pty here: a greeting, and lines for people."""

import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from frazil.service.logs import ReadableLines
from frazil.service.process.server import greeting
from frazil.service.settings import Tls, read_settings
from tests.unit.service.conftest import PATIENCE_S, START


class Terminal:
    """A service whose standard error is a terminal; ``text`` is what it shows."""

    def __init__(self, folder, *options):
        self.main, side = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, "serve", "memory:", "--port", "0", *options],
            env={**os.environ, "XDG_STATE_HOME": str(folder)},
            stderr=side,
        )
        os.close(side)
        self.text = ""

    def wait_for(self, words):
        end_s = time.monotonic() + PATIENCE_S
        while words not in self.text:
            left_s = max(0, end_s - time.monotonic())
            assert select.select([self.main], [], [], left_s)[0], self.text
            try:
                self.text += os.read(self.main, 4096).decode().replace("\r\n", "\n")
            except OSError:  # the end of the process is the end of the terminal
                assert words in self.text, self.text

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.fixture
def terminal(tmp_path):
    running = []

    def begin(*options):
        running.append(Terminal(tmp_path, *options))
        return running[-1]

    yield begin
    for one in running:
        one.end()


def row(text, name):
    """The text of a row of the greeting."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(name)]
    return line.strip().removeprefix(name).strip()


def test_it_greets_with_its_address_and_the_next_command(terminal):
    shown = terminal("--resp", "0")
    shown.wait_for("Ctrl-C\n")
    assert row(shown.text, "Console").startswith("http://127.0.0.1:")
    curl = shlex.split(row(shown.text, "Next, try"))
    done = subprocess.run([*curl, "-s", "--retry", "9"], check=True, capture_output=True)
    assert json.loads(done.stdout)["namespace"] == "default"
    assert "FRAZIL.ID default" in row(shown.text, "Redis clients")
    shown.process.send_signal(signal.SIGTERM)
    shown.wait_for("stopped")
    (line,) = [line for line in shown.text.splitlines() if "stopped" in line]
    assert "issued=default:" in line
    assert not line.startswith("{")


def test_the_greeting_of_other_settings():
    settings = replace(read_settings(None, "memory:"), host="0.0.0.0")
    assert row(greeting(settings, 80, None), "Console") == "http://127.0.0.1:80/"
    settings = replace(settings, host="::1", tls=Tls("a cert.pem", "key.pem"), tokens=("token",))
    text = greeting(settings, 443, 6380)
    assert row(text, "Next, try") == (
        "curl --cacert 'a cert.pem' -H \"Authorization: Bearer $FRAZIL_TOKEN\" "
        "'https://[::1]:443/v1/default/id'"
    )
    assert row(text, "Redis clients") == (
        "redis-cli -h ::1 -p 6380 --tls --cacert 'a cert.pem' -a \"$FRAZIL_TOKEN\" "
        "FRAZIL.ID default"
    )


def test_a_readable_line_has_no_secrets_and_one_line_per_fact():
    import logging

    record = logging.LogRecord("x", logging.WARNING, "", 0, "no id", (), None)
    record.facts = {"why": "redis://u:secret@h fails\nhere", "skipped": 2, "namespace": "a"}
    line = ReadableLines().format(record)
    assert "secret" not in line
    assert "\n" not in line
    assert line[8:].startswith("  warning: no id  why=")
    assert line.endswith("skipped=2  namespace=a")
