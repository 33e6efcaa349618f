"""Tables on a terminal of 40 columns: as many words as on a wide one, none of them cut."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from frazil.cli import COMMANDS as SUBCOMMANDS
from frazil.cli.show import terminal

BOX = "┌┐└┘─┬┴│"


def words(text, most):
    """The words of a text without its drawings; longer ones cannot be shown whole."""
    lines = [line for line in text.splitlines() if not set(line) & set(BOX)]
    return {word for line in lines for word in line.split() if len(word) <= most}


def narrow(text, columns=40):
    """Check that no line is too long, except those to copy: layouts, commands, paths."""
    for line in text.splitlines():
        assert len(line) <= columns or ":" in line or line.startswith("  frazil "), line


@pytest.mark.parametrize(
    "command",
    [
        "plan",
        "plan icicle",
        "plan icicle tsid js53",
        "plan --nodes 200 --rate 5000 --until 2060",
        "plan icicle --registry redis://a,b",
        "claims",
        "inspect {id}",
        "doctor",
        "audit ids",
    ],
)
def test_commands_keep_their_words(call, monkeypatch, tmp_path, command):
    call("init", "--new")
    ids = call("mint", "-n", "2").stdout
    (tmp_path / "ids").write_text(ids, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    args = command.format(id=ids.split()[0]).split()
    monkeypatch.setenv("COLUMNS", "200")
    wide = call(*args).stdout
    monkeypatch.setenv("COLUMNS", "40")
    shown = call(*args).stdout
    narrow(shown)
    still = words(wide, 16)
    if args[0] == "plan":
        still -= {"scheme"}  # it is before each name then
    else:  # ages, measured times and what is free change between two calls
        still = {word for word in still if not word[0].isdigit() and "…" not in word}
    assert still - words(shown, 40) == set()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("init",), 0),
        (("init", "--new"), 2),
        (("init", "--scheme", "tsid", "--namespace", "other", "--new"), 0),
        (("claims", "--scheme", "tsid"), 2),
        (("claims", "--namespace", "absent"), 0),
        (("mint", "--scheme", "tickets", "--namespace", "absent"), 2),
        (("inspect", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), 0),
        (("torture", "--system", "nonsense"), 2),
        (("nonsense",), 2),
        (("mint", "--count", "many"), 2),
        (("mint", "redis://cache"), 2),
        (("bench", "--seconds", "0.001"), 0),
        (("torture", "--faults", "threads", "--seconds", "0.2"), 0),
    ],
)
def test_no_word_is_broken_at_40_columns(call, monkeypatch, args, code):
    if args != ("init",):
        call("init", "--new")
    monkeypatch.setenv("COLUMNS", "40")
    done = call(*args)
    assert done.exit_code == code
    lines = (done.stdout + done.stderr).splitlines()
    long = [line for line in lines if len(line) > 40]
    # An address or a call can be copied only if it is whole.
    assert [line for line in long if not line.startswith(("https:", "  frazil "))] == []
    assert [line for line in lines if line.endswith("floor")] == []  # a cell without a text


@pytest.mark.parametrize("command", [[], *([name] for name in SUBCOMMANDS)], ids=str)
def test_help_keeps_its_words(call, monkeypatch, command):
    wide = call(*command, "--help").stdout
    monkeypatch.setenv("COLUMNS", "40")
    shown = call(*command, "--help").stdout
    examples = {line for line in wide.splitlines() if line.startswith("    ")}
    long = {line for line in shown.splitlines() if len(line) > 40 and "|" not in line}
    assert long <= examples
    assert {word for word in wide.split() if not {"-", "|"} & {*word}} <= set(shown.split())


def test_one_row_is_stamped_and_named_in_the_singular(call, monkeypatch, tmp_path):
    (tmp_path / "one.csv").write_text("name\nada\n", encoding="utf-8")
    call("init", "--new")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    shown = call("stamp", "one.csv", "-o", "two.csv").stderr
    assert shown.startswith("1 row in ")
    assert max(map(len, shown.splitlines())) <= 40
    assert "in 1 row\n" in call("audit", "two.csv").stdout.replace("\n            ", " ")


def test_a_command_to_copy_and_a_path_are_not_broken(monkeypatch):
    text = f"Take it:\n  frazil init --scheme tsid --namespace orders\n/{'folder/' * 8}\nthe end"
    monkeypatch.setenv("COLUMNS", "40")
    assert terminal.wrapped(text) == text
    assert terminal.wrapped("word " * 9) == "word word word word word word word word\nword"
    monkeypatch.setenv("COLUMNS", "80")
    assert terminal.wrapped("word " * 40) == "word " * 40


def test_a_drawing_that_does_not_fit_is_left_out(monkeypatch):
    drawing = "  63\n┌──────┐\n│ time │\n└──────┘\n"
    monkeypatch.setenv("COLUMNS", "40")
    assert terminal.wrapped(f"a\n{drawing}b") == f"a\n{drawing}b"
    monkeypatch.setenv("COLUMNS", "6")
    assert terminal.wrapped(f"a\n{drawing}b") == "a\nb"


def shown_at(columns, *rows):
    output = io.StringIO()
    made = terminal.Rows("node", "host", "IDs/s", right=("IDs/s",))
    for row in rows:
        made.add_row(*row)
    Console(file=output, width=columns).print(made)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_a_row_that_does_not_fit_becomes_a_list():
    """From 80 columns on a long word is folded, and the table stays one."""
    assert shown_at(80, ("7", "h" * 100, "1,200"))[0].split() == ["node", "host", "IDs/s"]
    lines = shown_at(40, ("7", Text("db7"), "1,200"))
    assert [lines[0].split(), lines[2].split()] == [
        ["node", "host", "IDs/s"],
        ["7", "db7", "1,200"],
    ]
    lines = shown_at(20, ("7", "a-host-of-a-long-name", "1,200"), ("8", "db8", "5"))
    assert lines[0] == "node 7"
    assert lines[-4:] == ["", "node 8", "  host   db8", "  IDs/s  5"]
