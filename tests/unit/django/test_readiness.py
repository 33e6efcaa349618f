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
        # The other one may be new, and wait, if a test before this one has emptied the memory.
        reply = until(lambda: b"does not answer" in (one := answer()).content and one, "the reason")
    assert reply.status_code == 503
