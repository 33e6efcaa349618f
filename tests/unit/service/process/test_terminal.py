"""``frazil serve`` on a terminal, a pty here: a greeting, and lines for people."""

import json
import logging
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

from frazil.service.logs import ReadableLines
from frazil.service.process.server import greeting
from frazil.service.settings import Tls, read_settings
from tests.unit.service.conftest import PATIENCE_S, START


def read_until(words, terminal, text=""):
    """What a terminal shows, after this text, up to some words."""
    end_s = time.monotonic() + PATIENCE_S
    while words not in text:
        left_s = max(0, end_s - time.monotonic())
        assert select.select([terminal], [], [], left_s)[0], text
        text += os.read(terminal, 4096).decode().replace("\r\n", "\n")
    return text


def row(text, name):
    """The text of a row of the greeting."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(name)]
    return line.strip().removeprefix(name).strip()


def test_it_greets_with_its_address_and_the_next_command(tmp_path):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", START, "serve", "memory:", "--port", "0", "--resp", "0"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    with subprocess.Popen(command, env=env, stderr=theirs) as process:
        try:
            text = read_until("Ctrl-C\n", ours)
            assert row(text, "Console").startswith("http://127.0.0.1:")
            curl = shlex.split(row(text, "Next, try"))
            done = subprocess.run([*curl, "-s", "--retry", "9"], check=True, capture_output=True)
            assert json.loads(done.stdout)["namespace"] == "default"
            assert "FRAZIL.ID default" in row(text, "Redis clients")
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)
            text = read_until("issued=default:", ours, text)
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)
    (line,) = [line for line in text.splitlines() if "issued=default:" in line]
    assert "stopped" in line
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
    record = logging.LogRecord("x", logging.WARNING, "", 0, "no id", (), None)
    record.facts = {"why": "redis://u:secret@h fails\nhere", "skipped": 2, "namespace": "a"}
    line = ReadableLines().format(record)
    assert "secret" not in line
    assert "\n" not in line
    assert line[8:].startswith("  warning: no id  why=")
    assert line.endswith("skipped=2  namespace=a")
