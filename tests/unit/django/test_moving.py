"""A project that had keys of the database: they are still found, and new ones are IDs."""

from io import StringIO

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.test import override_settings
from django.test.utils import setup_test_environment, teardown_test_environment

from frazil.django.declared import declarations, declared
from frazil.errors import CodecError, ConfigError


@pytest.fixture
def settings_of():
    used = []

    def use(general=None, **changed):
        schemes = settings.FRAZIL["schemes"] | changed
        used.append(
            override_settings(FRAZIL=settings.FRAZIL | (general or {}) | {"schemes": schemes})
        )
        used[-1].enable()

    yield use
    for each in reversed(used):
        each.disable()


@pytest.mark.parametrize(
    "entry",
    [{"old_keys": 10**12}, {"old_keys": -1}, {"old_keys": "17"},
     {"old_keys": 9, "scheme": "tickets"}, {"old_keys": 9, "shuffle": "reverse"},
     {"old_keys": 10**11, "encoding": "base62"}],
)  # fmt: skip
def test_keys_that_could_be_ids_are_refused(site, settings_of, entry):
    settings_of(order=entry)
    with pytest.raises(ConfigError):
        declarations()


def test_a_wrong_text_is_no_row(site, settings_of):
    order = site.Order.objects.create()
    item = site.Item.objects.create(order=order)
    with pytest.raises(CodecError):
        site.Order.objects.filter(pk="x").exists()
    settings_of({"wrong_text": "no row"})
    with pytest.raises(Http404):
        get_object_or_404(site.Order, pk="x")
    orders, items = site.Order.objects, site.Item.objects
    assert not orders.filter(pk="x").exists()
    assert list(orders.exclude(pk="x")) == [order]
    assert list(orders.filter(pk__in=["x", str(order.pk)])) == [order]
    assert not orders.filter(pk__in=["x"]).exists()
    assert not items.filter(order="x").exists()
    assert list(items.filter(order__in=["x", order, str(order.pk)])) == [item]
    for lookup in ("pk__gt", "pk__lte"):  # an answer would be wrong
        with pytest.raises(CodecError):
            orders.filter(**{lookup: "x"}).exists()
    with pytest.raises(CodecError):
        site.Order(id="x").save()


def test_tests_take_no_claims_of_the_project_s_store(site, settings_of):
    settings_of({"url": "redis://127.0.0.1:1"})
    assert str(declared("order").request().url).startswith("redis:")
    setup_test_environment()
    try:
        assert str(declared("order").request().url) == "memory:"
        assert site.Order.objects.create().pk
        settings_of({"url": "redis://127.0.0.1:1", "test_url": "sqlite:/nowhere"})
        assert str(declared("order").request().url).startswith("sqlite:")
    finally:
        teardown_test_environment()


def test_an_app_that_keeps_the_keys_of_the_database(site, monkeypatch):
    from frazil.django.checks import check_apps

    assert check_apps() == []
    config = apps.get_app_config("site")
    kind = type("SiteConfig", (type(config),),
                {"default_auto_field": "django.db.models.BigAutoField"})  # fmt: skip
    monkeypatch.setattr(config, "__class__", kind)
    assert check_apps() == []  # all its models name a key, or got one of frazil
    monkeypatch.setattr(site.Plain._meta.pk, "auto_created", True)
    (told,) = check_apps()
    assert (told.id, "apps.py" in told.hint) == ("frazil.W005", True)


def test_init_sets_up_all_namespaces(site, settings_of, tmp_path):
    from frazil.django.checks import check_namespaces

    settings_of({"url": f"sqlite:{tmp_path}/claims.db"})
    assert check_namespaces() == []
    missing = check_namespaces(databases=["default"])
    assert {each.id for each in missing} == {"frazil.W006"}
    assert len(missing) == 4  # order, payment, site.Customer, and default, which a model uses

    def said(*options):
        call_command("frazil", "init", *options, stdout=(out := StringIO()))
        return out.getvalue()

    assert said("--new").count("is set up") == 4
    assert check_namespaces(databases=["default"]) == []
    assert said("--new").count("exists") == said().count("exists") == 4
