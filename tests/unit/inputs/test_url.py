"""A URL is parsed once, and the path of its file becomes absolute."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from frazil.errors import ConfigError
from frazil.generator.request import make_request
from frazil.inputs.url import parse_url, url_of


# "lite" and "s" are also parts of the kind.
@pytest.mark.parametrize("name", ["claims.db", "lite", "s", "a/sqlite:b", "c d?horizon=2s"])
def test_relative_path_becomes_absolute(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = f"sqlite:{name.replace(' ', '%20')}"
    found = url_of(text)
    path, mark, query = name.replace(" ", "%20").replace("e:b", "e%3Ab").partition("?")
    assert found.text == f"sqlite://{tmp_path}/{path}{mark}{query}"
    assert str(found) == text
    assert replace(url_of(found.text), shown=text) == found


@pytest.mark.parametrize("name", ["state.db", "a b+c%d", "none?"])
def test_relative_state_of_a_static_number_becomes_absolute(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    text = f"static:7?state={quote(name)}&horizon=2s"
    found = url_of(text)
    assert dict(found.query) == {"state": f"{tmp_path}/{name}", "horizon": "2s"}
    assert found.body == "7"
    assert str(found) == text
    assert replace(url_of(found.text), shown=text) == found


@pytest.mark.parametrize("text", ["static:7", "static:7?state=none", "sqlite:", "redis://h/1"])
def test_url_without_a_file_does_not_change(text):
    assert url_of(text) == parse_url(text)


def test_an_error_names_the_variable_that_the_url_is_from(monkeypatch):
    monkeypatch.setenv("FRAZIL_URL", "redes://host")
    with pytest.raises(ConfigError, match=r"^FRAZIL_URL: .*did you mean redis:"):
        make_request(None)
    monkeypatch.setenv("FRAZIL_URL", "redis://host/#1")
    with pytest.raises(ConfigError, match=r"^FRAZIL_URL: the URL that begins with redis: is "):
        make_request(None)
    with pytest.raises(ConfigError, match=r"^no registry is called 'redas:"):
        make_request("redas:")


@pytest.mark.parametrize("path", ["/tmp/claims.db", "data/claims.db"])
def test_a_path_gets_the_url_of_its_file(path):
    with pytest.raises(ConfigError) as caught:
        parse_url(path)
    assert str(caught.value).endswith(f"like sqlite://{Path(path).absolute()}")


def test_what_holds_a_secret_is_not_listed_as_a_sequence():
    """Tools that record variables, or write them as JSON, list the parts of a tuple."""
    request = make_request("redis://:hidden@localhost")
    for value in (request, request.url):
        assert "hidden" not in json.dumps(value, default=repr)
