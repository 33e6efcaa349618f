"""Tables on a terminal of 40 columns: as many words as on a wide one, none of them cut."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from frazil.cli.show import terminal

__all__: list[str] = []

COMMANDS = {
    "plan": (),
    "plan icicle": ("icicle",),
    "plan three": ("icicle", "tsid", "js53"),
    "plan need": ("--nodes", "200", "--rate", "5000", "--until", "2060"),
    "plan fleet": ("icicle", "--registry", "redis://a,b"),
}
BOX = "┌┐└┘─┬┴│"


def words(text, most):
    """The words of a text without its drawings; longer ones cannot be shown whole."""
    lines = [line for line in text.splitlines() if not set(line) & set(BOX)]
    return {word for line in lines for word in line.split() if len(word) <= most}


def narrow(text, columns=40):
    """Check that no line is too long, except those to copy: layouts, commands, paths."""
    for line in text.splitlines():
        assert len(line) <= columns or ":" in line, line


@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS)
def test_plans_keep_their_words(call, monkeypatch, args):
    wide = call("plan", *args).stdout
    monkeypatch.setenv("COLUMNS", "40")
    shown = call("plan", *args).stdout
    narrow(shown)
    assert words(wide, 20) - words(shown, 40) <= {"scheme"}  # it is before each name then


@pytest.mark.parametrize("command", ["claims", "inspect", "doctor", "audit"])
def test_other_commands_keep_their_words(call, monkeypatch, tmp_path, command):
    call("init", "--new")
    ids = call("mint", "-n", "2").stdout
    (tmp_path / "ids").write_text(ids, encoding="utf-8")
    args = {"inspect": [ids.split()[0]], "audit": [str(tmp_path / "ids")]}.get(command, [])
    monkeypatch.setenv("COLUMNS", "200")
    wide = call(command, *args).stdout
    monkeypatch.setenv("COLUMNS", "40")
    shown = call(command, *args).stdout
    narrow(shown)
    # Ages, measured times and what is free change between two calls.
    still = {word for word in words(wide, 16) if not word[0].isdigit() and "…" not in word}
    assert still - words(shown, 40) == set()


def shown_at(columns, *rows):
    output = io.StringIO()
    made = terminal.table("node", "host", "IDs/s", right=("IDs/s",))
    for row in rows:
        made.add_row(*row)
    Console(file=output, width=columns).print(made)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_a_table_that_fits_stays_one():
    lines = shown_at(40, ("7", Text("db7"), "1,200"))
    assert lines[0].split() == ["node", "host", "IDs/s"]
    assert lines[2].split() == ["7", "db7", "1,200"]


def test_a_row_that_does_not_fit_becomes_a_list():
    lines = shown_at(20, ("7", "a-host-of-a-long-name", "1,200"), ("8", "db8", "5"))
    assert lines[0] == "node 7"
    assert lines[-4:] == ["", "node 8", "  host   db8", "  IDs/s  5"]


def test_from_80_columns_on_a_long_word_is_folded():
    lines = shown_at(80, ("7", "h" * 100, "1,200"))
    assert lines[0].split() == ["node", "host", "IDs/s"]
