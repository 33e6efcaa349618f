"""Saving as with a BigAutoField, whose keys a database makes."""

import json

import pytest
from django.apps import apps
from django.core import serializers
from django.db import IntegrityError, transaction


def test_a_forced_update_without_a_key(site):
    with pytest.raises(ValueError, match="Cannot force an update"):
        site.Order().save(force_update=True)
    with pytest.raises(ValueError, match="Cannot force an update"):
        site.Order().save(update_fields=["note"])


def test_many_with_conflicts_get_no_key_that_no_row_has(site):
    kept = site.Code.objects.create(text="a", note="old")
    some = [site.Code(text="a", note="new"), site.Code(text="b")]
    assert site.Code.objects.bulk_create(some, ignore_conflicts=True) == some
    assert [each.pk for each in some] == [None, None]
    assert {each.text: each.note for each in site.Code.objects.all()} == {"a": "old", "b": ""}

    more = [site.Code(text="a", note="new"), site.Code(text="c")]
    site.Code.objects.bulk_create(
        more, update_conflicts=True, update_fields=["note"], unique_fields=["text"]
    )
    rows = {each.text: each for each in site.Code.objects.all()}
    assert [each.pk for each in more] == [kept.pk, rows["c"].pk]
    assert rows["a"].note == "new"


def test_many_that_fail_have_no_key(site):
    site.Code.objects.create(text="a")
    some = [site.Code(text="a")]
    with pytest.raises(IntegrityError), transaction.atomic():
        site.Code.objects.bulk_create(some)
    assert some[0].pk is None


def test_a_fixture_without_keys_is_loaded(site):
    text = json.dumps([{"model": "site.tag", "fields": {"name": "a"}}])
    for each in serializers.deserialize("json", text):
        each.save()
    assert site.Tag.objects.get().pk


def test_ready_twice(site, recwarn):
    apps.get_app_config("frazil").ready()
    assert not recwarn.list
