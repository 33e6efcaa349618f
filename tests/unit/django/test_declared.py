"""The setting FRAZIL, and the generators that it names."""

import pytest
from django.test import override_settings

import frazil
from frazil.django.declared import declared
from frazil.errors import ConfigError


def test_arguments_reach_open_and_scheme(site, monkeypatch):
    entry = {
        "scheme": "uniqueid-sequential",
        "fields": {"cluster": 3},
        "prefix": "page_",
        "encoding": "hex",
        "key": "env:PAGE_KEY",
        "namespace": "pages",
        "url": "redis://pages",
        "lead": "5ms",
        "keep": "7s",
        "timeout": "2s",
    }
    monkeypatch.setenv("PAGE_KEY", "2b7e151628aed2a6abf7158809cf4f3c")
    setting = {"url": "redis://all", "schemes": {"page": entry, "one": frazil.scheme("tsid")}}
    with override_settings(FRAZIL=setting):
        page, one = declared("page"), declared("one")
        request = page.request()
        assert page.scheme == frazil.scheme(
            "uniqueid-sequential",
            fields={"cluster": 3},
            prefix="page_",
            encoding="hex",
            key="env:PAGE_KEY",
        )
        assert "2b7e" not in repr(page)
        assert (str(request.url), request.namespace) == ("redis://pages", "pages")
        times_us = request.lead_us, request.keep_us, request.timeout_us
        assert times_us == (5_000, 7_000_000, 2_000_000)
        assert (one.scheme.name, one.request().namespace) == ("tsid", "one")
        assert str(one.request().url) == "redis://all"
        assert declared(None, "site.Order").name == "default"
        with pytest.raises(ConfigError, match="has no 'pge'; it has default, one, page"):
            declared("pge")
    assert declared(None, "site.Customer").name == "site.Customer"


def test_a_password_is_not_shown(site):
    with override_settings(FRAZIL={"url": "redis://:secret@cache"}):
        assert "secret" not in repr(declared(None))
