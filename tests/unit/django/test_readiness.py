"""The view of a readiness probe."""

from django.test import RequestFactory, override_settings

from tests.tools.waiting import until


def answer():
    from frazil.django.readiness import readyz

    return readyz(RequestFactory().get("/readyz"))


def test_all_declared_schemes_are_ready(site):
    # Generators of earlier tests, whose store was emptied, wait for a horizon.
    reply = until(lambda: (found := answer()).status_code == 200 and found, "an answer of 200")
    assert reply.content == b"ready\n"
    assert reply["Cache-Control"] == "no-store"


def test_one_is_not(site):
    dead = {"url": "redis://127.0.0.1:1?timeout=100ms"}
    with override_settings(FRAZIL={"url": "memory:", "schemes": {"order": {}, "bill": dead}}):
        reply = answer()
    assert reply.status_code == 503
    assert b"does not answer" in reply.content


def test_the_default_counts_alone(site):
    dead = {"url": "redis://127.0.0.1:1?timeout=100ms"}
    with override_settings(FRAZIL={"url": "memory:", "schemes": {"order": {}, "default": dead}}):
        assert until(lambda: answer().status_code == 200, "an answer of 200")
    with override_settings(FRAZIL=dead):
        assert answer().status_code == 503
