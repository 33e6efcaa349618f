"""``manage.py frazil``, and the view of a readiness probe."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import RequestFactory, override_settings

from tests.tools.waiting import until


def run(*arguments):
    out = StringIO()
    call_command("frazil", *arguments, stdout=out)
    return out.getvalue()


def test_mint(site):
    made = run("mint", "order", "-n", "3").split()
    assert len(set(made)) == 3
    assert all(text.startswith("order_") for text in made)
    assert run("mint").strip().isdigit()


def test_inspect_reads_a_text_and_a_number(site):
    order = site.Order.objects.create()
    for given in (str(order.id), str(int(order.id))):
        shown = run("inspect", given)
        assert f"text    {order.id}\nnumber  {int(order.id)}\n" in shown
        assert "│ sequence" in shown
    assert "scheme  default" not in run("inspect", str(order.id))


def test_schemes(site):
    assert "order: icicle, order_ in base62, namespace order, memory:\n" in run("schemes")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspect", "nonsense"), "'nonsense' is not an ID of the declared schemes: default,"),
        (("mint", "pge"), "has no 'pge'"),
        (("mint", "-n", "-1"), "must be a whole number"),
    ],
)
def test_what_is_wrong_is_said(site, arguments, words):
    with pytest.raises(CommandError, match=words):
        run(*arguments)


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
