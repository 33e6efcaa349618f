"""Forms, and what the admin makes of the text of an ID in a URL."""

from contextlib import suppress

import pytest
from django import forms
from django.contrib.admin.utils import UNQUOTE_MAP, unquote
from django.core.exceptions import ValidationError
from django.test import override_settings

import frazil
from frazil.errors import CodecError


def test_a_choice_of_rows_shows_and_takes_the_text(site):
    from django.forms import modelform_factory

    order = site.Order.objects.create()
    item = site.Item.objects.create(order=order)
    form = modelform_factory(site.Item, fields=["order", "payment"])
    shown = str(form(instance=item))
    assert f'<option value="{order.id}" selected>' in shown
    assert str(int(order.id)) not in shown
    assert not form({"order": str(order.id)}, instance=item).has_changed()
    filled = form({"order": str(order.id), "payment": "pay_00000000000000a1"})
    assert filled.save().order == order
    wrong = form({"order": str(int(order.id)), "payment": "pay_a1"})
    assert set(wrong.errors) == {"order", "payment"}
    assert "it ends after 6 of 20 characters" in wrong.errors["payment"][0]


def test_a_hidden_input_and_an_initial_number_show_the_text(site):
    from frazil.django import IdFormField

    class Form(forms.Form):
        payment = IdFormField("payment", required=False, widget=forms.HiddenInput)

    assert 'value="pay_00000000000000a1"' in str(Form(initial={"payment": 0xA1}))
    form = Form({"payment": "pay_00000000000000a1"}, initial={"payment": 0xA1})
    assert form.is_valid()
    assert form.cleaned_data == {"payment": 0xA1}
    assert not form.has_changed()
    empty = Form({"payment": ""})
    assert empty.is_valid()
    assert empty.cleaned_data == {"payment": None}


def test_a_form_reads_what_people_type():
    from frazil.django import FrazilField
    from frazil.django.fields import IdFormField

    look = {"encoding": "base32", "group": 4, "check": True, "prefix": "t_"}
    n = 1425240015351840769
    with override_settings(FRAZIL={"url": "memory:", "schemes": {"ticket": look}}):

        class Form(forms.Form):
            ticket = IdFormField("ticket")

        for typed in ("t_17HV-R7RH-BG00-1E", "t_17hv r7rh bgoo le", " t_17HVR7RHBG001E "):
            form = Form({"ticket": typed})
            assert form.is_valid()
            assert form.cleaned_data == {"ticket": n}
            assert str(form.cleaned_data["ticket"]) == "t_17HV-R7RH-BG00-1E"
        wrong = Form({"ticket": "t_17HV-R7RH-BG00-2E"})
        assert "check character does not fit" in str(wrong.errors)
        assert FrazilField("ticket").to_python("t_17hv r7rh bgoo le") == n


@pytest.mark.parametrize("encoding", ["base32", "base58", "base62", "hex", "decimal"])
def test_the_admin_finds_a_row_whatever_its_text_begins_with(site, encoding):
    """The admin unquotes ``_2F`` and the like, also in ``order_2F...``, which it did not quote."""
    scheme, key = frazil.scheme("icicle", prefix="order_", encoding=encoding), site.Order._meta.pk
    schemes = {"order": scheme, "payment": {}, "site.Customer": {}}
    with override_settings(FRAZIL={"url": "memory:", "schemes": schemes}):
        seen = 0
        for code in UNQUOTE_MAP:
            digits = f"{code[1:]}11111111111111111"
            text = f"order_{digits[: scheme.codec.width or 19]}"
            with suppress(CodecError):
                n = scheme.read(text)
                seen += unquote(text) != text
                assert key.to_python(unquote(text)) == n
        assert seen or encoding == "hex"  # its digits are lower-case
        for wrong in ("order_", "a/b", "order_/", "/"):
            with pytest.raises(ValidationError, match=f"“{wrong}” is not an ID"):
                key.to_python(wrong)


def test_the_admin_searches_for_a_text(site):
    from django.contrib.admin import ModelAdmin
    from django.contrib.admin import site as sites

    class Orders(ModelAdmin):
        search_fields = ("id", "note", "items__payment")

    order = site.Order.objects.create(note="ice")
    site.Order.objects.create(note="snow")
    site.Item.objects.create(order=order, payment=0xA1)
    admin, rows = Orders(site.Order, sites), site.Order.objects.all()
    for term in (str(order.id), "ice", "pay_00000000000000a1"):
        assert list(admin.get_search_results(None, rows, term)[0]) == [order]
    outside = frazil.scheme(prefix="order_", encoding="base62").format(1 << 63)
    for term in (str(order.id)[:-1], str(int(order.id)), "é", "0", outside, "pay_8000000000000005"):
        assert list(admin.get_search_results(None, rows, term)[0]) == []
    assert admin.get_object(None, str(order.id)) == order
    assert admin.get_object(None, "nonsense") is None
