"""A URL is parsed once, and the path of its file becomes absolute."""

from urllib.parse import quote

import pytest

from frazil.inputs.url import parse_url

__all__: list[str] = []


# "lite" and "s" are also parts of the kind.
@pytest.mark.parametrize("name", ["claims.db", "lite", "s", "a/sqlite:b", "c d?horizon=2s"])
def test_relative_path_becomes_absolute(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = f"sqlite:{name.replace(' ', '%20')}"
    found = parse_url(text).anchored()
    path, mark, query = name.replace(" ", "%20").replace("e:b", "e%3Ab").partition("?")
    assert found.text == f"sqlite://{tmp_path}/{path}{mark}{query}"
    assert str(found) == text
    assert found.anchored() == found


@pytest.mark.parametrize("name", ["state.db", "a b+c%d", "none?"])
def test_relative_state_of_a_static_number_becomes_absolute(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = f"static:7?state={quote(name)}&horizon=2s"
    found = parse_url(text).anchored()
    assert dict(found.query) == {"state": f"{tmp_path}/{name}", "horizon": "2s"}
    assert found.body == "7"
    assert str(found) == text
    assert found.anchored() == found


@pytest.mark.parametrize("text", ["static:7", "static:7?state=none", "sqlite:", "redis://h/1"])
def test_url_without_a_file_does_not_change(text):
    assert parse_url(text).anchored() == parse_url(text)
