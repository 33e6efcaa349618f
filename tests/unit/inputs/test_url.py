"""A URL is read once, and its file is named from the root on."""

import pytest

from frazil.inputs.url import parse_url

__all__: list[str] = []


# "lite" and "s" also stand in the URL's kind.
@pytest.mark.parametrize("name", ["claims.db", "lite", "s", "a/sqlite:b", "c d?horizon=2s"])
def test_a_relative_path_is_anchored(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = f"sqlite:{name.replace(' ', '%20')}"
    found = parse_url(text).anchored()
    path, mark, query = name.replace(" ", "%20").replace("e:b", "e%3Ab").partition("?")
    assert found.text == f"sqlite://{tmp_path}/{path}{mark}{query}"
    assert str(found) == text
    assert found.anchored() == found
