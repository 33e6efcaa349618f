"""What ``manage.py check`` says about the setting and the fields."""

import pytest
from django.core.checks import run_checks
from django.db import connections
from django.test import override_settings

import frazil

SCHEMES = {"order": {"prefix": "order_"}, "payment": "sonyflake"}


def found(deploy=False, **settings):
    """The IDs of the messages, and all of their text."""
    with override_settings(**settings):
        messages = [
            each for each in run_checks(include_deployment_checks=deploy) if "frazil" in each.id
        ]
    return {each.id for each in messages}, "\n".join(f"{each.msg} {each.hint}" for each in messages)


def setting(url="redis://cache", **schemes):
    return {"url": url, "schemes": {**SCHEMES, **schemes}}


def test_nothing_is_said_of_what_is_right(site):
    assert found(FRAZIL=setting()) == (set(), "")
    assert found(FRAZIL=setting(), deploy=True) == (set(), "")


@pytest.mark.parametrize(
    ("wrong", "ids", "words"),
    [
        ("redis://cache", {"E001", "E002"}, "FRAZIL must be a mapping"),
        (
            {"urls": "x"},
            {"E001", "E002"},
            "no entry 'urls'; it accepts url, test_url, schemes, wrong_text",
        ),
        ({"schemes": []}, {"E001", "E002"}, 'FRAZIL["schemes"] must be a mapping'),
        ({"schemes": {}}, {"E002"}, "has no 'order'; it has default. Add \"order\": {}"),
        (setting(order=7), {"E001", "E002"}, "['order'] must be a Scheme"),
        (setting(order={"prefx": "o_"}), {"E001", "E002"}, "no entry 'prefx'; it accepts scheme"),
        (setting(order={"prefix": "o"}), {"E001", "E002"}, "['order']: prefix 'o' is invalid"),
        (setting(order="icicel"), {"E001", "E002"}, "did you mean 'icicle'"),
        (setting(order={"epoch": "yesterday"}), {"E001", "E002"}, "is not a moment"),
        (setting("redsi://cache"), {"E001"}, "['default']: "),
        (setting(order={"timeout": "soon"}), {"E001"}, "['order']: "),
        (setting(order="discord"), {"E003"}, "has 64 bits, and a signed BIGINT holds 63"),
        (setting(order="globalid-128"), {"E003"}, "signed BIGINT"),
        (setting(order={"namespace": "payment"}), {"E005"}, "share the namespace 'payment'"),
    ],
)
def test_what_is_wrong_is_named(site, wrong, ids, words):
    seen, text = found(FRAZIL=wrong)
    assert seen == {f"frazil.{each}" for each in ids}
    assert words in text


def test_a_generator_as_a_default_is_found(site, monkeypatch):
    with frazil.open("memory:") as ids:
        monkeypatch.setattr(site.Order._meta.get_field("note"), "default", ids)
        seen, text = found()
    assert seen == {"frazil.E004"}
    assert "use FrazilAutoField" in text


def test_a_separator_of_thousands_is_found(site):
    assert found(USE_THOUSAND_SEPARATOR=True)[0] == {"frazil.W004"}


@pytest.mark.parametrize(
    ("url", "host", "ids"),
    [
        (None, "", {"frazil.W001"}),
        ("memory:", "", {"frazil.W002"}),
        ("sqlite:", "", set()),
        ("sqlite:", "/run/postgresql", set()),
        ("sqlite:", "db.example.org", {"frazil.W003"}),
        ("redis://cache", "db.example.org", set()),
        ("redsi://cache", "", {"frazil.E001"}),
    ],
)
def test_a_store_that_hosts_cannot_share_is_found_before_a_deployment(
    site, monkeypatch, url, host, ids
):
    monkeypatch.setitem(connections.settings["default"], "HOST", host)
    assert found(deploy=True, FRAZIL=setting(url))[0] == ids
    assert found(FRAZIL=setting(url))[0] == {each for each in ids if "E001" in each}
