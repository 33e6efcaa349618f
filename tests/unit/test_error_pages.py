"""The page of an error: in its traceback, and in the repository."""

import pickle
import traceback
from pathlib import Path

import pytest

import frazil
from frazil import errors

ROOT = Path(__file__).resolve().parents[2]
KINDS = [each for name in errors.__all__ if isinstance(each := getattr(errors, name), type)]
QUIET = {"CodecError", "FrazilError", "LayoutError", "Misuse", "Stopped", "TryLater"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_exists_and_names_the_error(kind):
    path, _, section = kind.page.partition("/main/")[2].partition("#")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"`{kind.__name__}`" in text or path == "docs/reference/errors.md"
    assert not section or f"\n## {kind.__name__}\n" in text
    assert section in ("", kind.__name__.lower())


@pytest.mark.parametrize("kind", KINDS)
def test_a_traceback_shows_the_page_of_what_an_operator_meets(kind):
    assert hasattr(kind("x"), "__notes__") == (kind.__name__ not in QUIET)


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
