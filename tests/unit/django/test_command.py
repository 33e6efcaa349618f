"""``manage.py frazil``."""

from io import StringIO

import pytest


def run(*arguments):
    from django.core.management import call_command

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
    from django.core.management import CommandError

    with pytest.raises(CommandError, match=words):
        run(*arguments)
