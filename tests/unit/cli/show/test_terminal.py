"""Relative times, local times, and JSON lists of any length."""

import json
import time

import pytest
from rich.console import Group

from frazil.cli.show.terminal import Facts, Rows, echo, echo_json, local_text
from frazil.inputs.duration import ago

S = 1_000_000


@pytest.mark.parametrize(
    ("apart_s", "words"),
    [
        (0.9, "just now"),
        (1, "1 second"),
        (59.9, "59 seconds"),
        (3 * 60, "3 minutes"),
        (86_400, "1 day"),
        (40 * 86_400, "1 month"),
        (5_000 * 31_556_952, "5,000 years"),
    ],
)
def test_ago(apart_s, words):
    us = int(apart_s * S)
    if words == "just now":
        assert ago(-us, 0) == ago(us, 0) == words
    else:
        assert ago(-us, 0) == f"{words} ago"
        assert ago(us, 0) == f"in {words}"


def test_local_text(monkeypatch):
    us = 1_783_680_000_123_000
    try:
        monkeypatch.setenv("TZ", "XST-05:30")
        time.tzset()
        assert local_text(us) == "2026-07-10 16:10:00.123 +0530 (XST)"
        assert local_text(us // S * S) == "2026-07-10 16:10:00 +0530 (XST)"
        assert local_text(1 << 80) == ""
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        assert local_text(us) == ""
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json(count, capsys):
    items = [{"n": n, "text": "é\n"} for n in range(count)]
    echo_json(items)
    assert json.loads(capsys.readouterr().out) == items


def test_pipe_gets_no_spaces_at_line_ends(capsys):
    shown = Rows("name", "count", right=("count",))
    shown.add_row("[not markup]", "1")
    shown.add_row("a", "1,000")
    echo(shown)
    echo(Facts([("one", "1"), ("longer", "2")]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == ["[not markup]      1", "a             1,000", "one     1", "longer  2"]


@pytest.mark.parametrize("text", ["1", "é", "wide " * 30, "a\tb", "\x07", ""])
def test_facts_are_the_same_without_rich(capsys, text):
    rows = [("one", text), ("", "2"), ("longer", "x" * 72)]
    echo(Facts(rows))
    shown = capsys.readouterr().out
    echo(Group(Facts(rows)))
    assert shown == capsys.readouterr().out
