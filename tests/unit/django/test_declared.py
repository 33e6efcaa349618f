"""The setting FRAZIL, and the generators that it names."""

import os

import pytest

import frazil
from frazil.errors import ConfigError


def test_arguments_reach_open_and_scheme(site):
    from django.test import override_settings

    from frazil.django.declared import declared

    entry = {
        "scheme": "uniqueid-sequential",
        "fields": {"cluster": 3},
        "prefix": "page_",
        "encoding": "hex",
        "namespace": "pages",
        "url": "redis://pages",
        "lead": "5ms",
        "keep": "7s",
        "timeout": "2s",
    }
    setting = {"url": "redis://all", "schemes": {"page": entry, "one": frazil.scheme("tsid")}}
    with override_settings(FRAZIL=setting):
        page, one = declared("page"), declared("one")
        request = page.request()
        assert page.scheme == frazil.scheme(
            "uniqueid-sequential", fields={"cluster": 3}, prefix="page_", encoding="hex"
        )
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
    from django.test import override_settings

    from frazil.django.declared import declared

    with override_settings(FRAZIL={"url": "redis://:secret@cache"}):
        assert "secret" not in repr(declared(None))


def test_a_forked_worker_makes_ids_of_its_own(site, tmp_path):
    from django.test import override_settings

    from frazil.django.declared import declared

    with override_settings(FRAZIL={"url": f"sqlite://{tmp_path}/claims.db"}):
        ids = declared(None).generator()
        mine = ids.take(10)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                made = declared(None).generator().take(1_000)
                os.write(writer, " ".join(map(str, made)).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with open(reader) as told:  # noqa: PTH123
            theirs = list(map(int, told.read().split()))
        os.waitpid(child, 0)
        mine += ids.take(1_000)
        ids.close()
    assert len({*mine, *theirs}) == 2_010


def test_keyed_text(site, monkeypatch):
    from django.test import override_settings

    from frazil.django.declared import declared

    monkeypatch.setenv("ORDER_KEY", "2b7e151628aed2a6abf7158809cf4f3c")
    entry = {"prefix": "order_", "key": "env:ORDER_KEY"}
    with override_settings(FRAZIL={"url": "memory:keyed", "schemes": {"order": entry}}):
        order = declared("order")
        made = order.generator()()
        text = order.scheme.format(made)
        assert order.scheme.read(text) == made
        assert text.startswith("order_1")
        assert "2b7e" not in repr(order)
        assert order.generator() is order.generator()
        order.generator().close()
