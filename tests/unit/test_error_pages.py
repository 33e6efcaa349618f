"""The page of an error: in its traceback, and in the repository."""

import pickle
import traceback
from pathlib import Path

import pytest

import frazil
from frazil import errors

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
WITH_PAGES = [
    errors.PoolExhausted,
    errors.RegistryUnavailable,
    errors.ClockError,
    errors.LayoutExhausted,
]


@pytest.mark.parametrize("kind", WITH_PAGES)
def test_the_page_exists_and_names_the_error(kind):
    path = ROOT / kind.page.partition("/main/")[2]
    assert f"`{kind.__name__}`" in path.read_text(encoding="utf-8")


def test_a_traceback_shows_it_once_and_the_message_does_not():
    with (
        frazil.open("redis://127.0.0.1:1?timeout=50ms", timeout="50ms") as ids,
        pytest.raises(errors.RegistryUnavailable) as caught,
    ):
        ids()
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value)), caught.value.again()):
        last = "".join(traceback.format_exception_only(error))
        assert last.count("docs/how-to/alarms/store-away.md") == 1
        assert "https:" not in str(error)


def test_others_have_none():
    assert errors.ConfigError("x").page == ""
    assert not hasattr(errors.ConfigError("x"), "__notes__")
