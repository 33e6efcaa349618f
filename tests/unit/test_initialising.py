"""``frazil.init``: what the command does, from Python."""

import pytest

import frazil
from frazil.errors import ConfigError

INVOICES = {"scheme": "tickets", "namespace": "invoices"}


def test_a_new_namespace_has_its_first_id_at_once(monkeypatch):
    monkeypatch.setenv("FRAZIL_URL", "sqlite:?horizon=10min")  # for which a first use waits
    assert frazil.init(new=True) is True
    with frazil.open(timeout="1min") as ids:
        ids()
    with pytest.raises(ConfigError, match=r"'default' of sqlite:\S* already has a record"):
        frazil.init(new=True)


def test_if_missing_may_be_repeated():
    assert [frazil.init(if_missing=True) for _ in range(3)] == [True, False, False]
    for call in (frazil.init, frazil.mint):
        given = {"if_missing": True} if call is frazil.init else {}
        with pytest.raises(ConfigError, match=r"^namespace 'default' has the layout"):
            call(url="sqlite:", scheme="discord", **given)


def test_counters_begin_and_move():
    assert frazil.init(**INVOICES, start=20_001)
    assert frazil.mint(2, **INVOICES) == [20_001, 20_002]
    with pytest.raises(ConfigError, match="forward=True"):
        frazil.init(**INVOICES, start=30_000)
    assert frazil.init(**INVOICES, start=30_000, forward=True)
    assert frazil.mint(1, **INVOICES) == [30_000]
    assert frazil.init(**INVOICES, if_missing=True) is False


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"scheme": "tickets"}, "add start="),
        ({"scheme": "tickets", "forward": True}, "forward= needs the next value"),
        ({"scheme": "tickets", "new": True, "start": 1}, "new= starts a counter"),
        ({"start": 1}, "start= and forward= are for counters"),
        ({"if_missing": True, "new": True}, "declares nothing"),
        ({"scheme": "tickets", "if_missing": True}, "a program cannot know its next value"),
        ({"url": "http://127.0.0.1:1/a"}, "makes IDs itself"),
        ({"begin": 1}, "init has no argument begin="),
    ],
)
def test_what_makes_no_sense_is_refused(options, problem):
    with pytest.raises(ConfigError, match=problem):
        frazil.init(**options)
