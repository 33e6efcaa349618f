"""Keys that are made before the INSERT, stored as numbers and read from texts."""

import copy
import json
import pickle
import re

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

import frazil
from frazil.errors import CodecError, ConfigError
from tests.needs import needs

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")


def queries(call):
    """The statements that a call sends to the database."""
    with CaptureQueriesContext(connection) as sent:
        call()
    return [query["sql"] for query in sent.captured_queries]


def test_create_makes_the_id_before_the_insert(site):
    order = site.Order(note="new")
    assert order.pk is None
    (insert,) = queries(order.save)
    assert insert.startswith("INSERT")
    assert "RETURNING" not in insert
    assert str(int(order.id)) in insert
    assert ORDER.parse(str(order.id)) == order.id > 1 << 53
    assert site.Order.objects.get().id == order.id
    (update,) = queries(order.save)
    assert update.startswith("UPDATE")


def test_a_child_table_has_the_key_of_its_parent(site):
    gift = site.Gift.objects.create(ribbon="red")
    assert gift.pk == gift.order_ptr_id == site.Order.objects.get().id
    assert site.Gift.objects.get(pk=str(gift.pk)).ribbon == "red"


@pytest.mark.parametrize("wrong", [-1, 1 << 63, 1 << 70, "order_", "pay_00000000000000a1", "12"])
def test_a_wrong_id_is_not_saved(site, wrong):
    with pytest.raises(CodecError):
        site.Order.objects.create(id=wrong)
    with pytest.raises(CodecError):
        site.Item.objects.create(order_id=wrong)
    with pytest.raises(ValidationError, match="is not an ID"):
        site.Order(id=wrong).clean_fields()


def test_rows_are_found_by_text_and_by_number(site):
    order, other = site.Order.objects.create(), site.Order.objects.create()
    item = site.Item.objects.create(order=order)
    text, found = str(order.id), site.Order.objects
    assert found.get(pk=text) == found.get(id=int(order.id)) == found.get(pk=order.id) == order
    assert set(found.filter(pk__in=[text, int(other.id)])) == {order, other}
    assert list(found.filter(id__gt=text)) == [other]
    assert found.filter(id__gt=0).count() == 2
    assert site.Item.objects.get(order=text) == site.Item.objects.get(order__id=text) == item
    assert found.get(items__id=str(item.id)) == order
    assert found.in_bulk([text]) == {order.id: order}
    with pytest.raises(ValueError, match="must begin with 'order_'"):
        found.get(pk="nonsense")
    assert not found.filter(id=1 << 80).exists()


@pytest.mark.parametrize("lookup", ["pk", "id__in", "id__gt", "items__payment", "customer"])
def test_a_text_of_a_number_outside_the_scheme_is_no_id(site, lookup):
    """It decodes to a number with the sign bit set, which a BIGINT does not hold."""
    outside = {
        "items__payment": "pay_8000000000000005",
        "customer": frazil.scheme(prefix="customer_", encoding="base32", check=True).format(
            1 << 63
        ),
    }
    text = outside.get(lookup, ORDER.format((1 << 63) + 5))
    with pytest.raises(CodecError, match=f"'{text}' is not an ID of scheme"):
        site.Order.objects.filter(**{lookup: [text] if lookup == "id__in" else text})


def test_a_name_a_label_and_the_default(site):
    assert str(site.Order.objects.create().id).startswith("order_")
    assert str(site.Customer.objects.create().id).startswith("customer_")
    assert str(site.Tag.objects.create().id).isdigit()
    customers = site.Customer._meta.pk.declaration
    assert customers.name == "site.Customer"
    assert customers.generator() is customers.generator()


def test_an_id_is_an_int_that_shows_its_text(site):
    order = site.Order.objects.create()
    number, text = int(order.id), str(order.id)
    assert type(number) is int
    assert order.id == number
    assert {order.id: 1} == {number: 1}
    shown = f"{order.id}", f"{order.id}", f"{order.id:d}", f"{order.id!r}"
    assert shown == (text, text, str(number), str(number))
    assert json.dumps(order.id) == repr(order.id) == str(number)
    for same in (pickle.loads(pickle.dumps(order.id)), copy.deepcopy(order.id)):
        assert (same, str(same)) == (number, text)
    assert len(pickle.dumps(order.id)) < 100
    assert str(order) == f"Order object ({text})"
    assert order.id.scheme.unpack(order.id).node == ORDER.unpack(number).node


@pytest.mark.parametrize("kind", ["json", "xml", "jsonl", "yaml"])
def test_fixtures(site, tmp_path, kind):
    if kind == "yaml":
        needs("yaml", "the serializer of YAML")
    order = site.Order.objects.create(note="kept")
    item = site.Item.objects.create(order=order, payment=0xA1)
    file = tmp_path / f"rows.{kind}"
    call_command("dumpdata", "site.order", "site.item", format=kind, output=str(file))
    written = file.read_text()
    assert str(order.id) in written
    assert "pay_00000000000000a1" in written
    assert not re.search(r"[ :]\d{16}", written)  # also a decimal text is quoted
    site.Order.objects.all().delete()
    call_command("loaddata", str(file), verbosity=0)
    assert site.Item.objects.get() == item
    assert (site.Item.objects.get().order, item.order.note) == (order, "kept")
    assert str(site.Item.objects.get().payment) == "pay_00000000000000a1"


def test_the_table_of_migrations_is_numbered_by_the_database(site):
    from django.db import connection, models
    from django.db.migrations.recorder import MigrationRecorder

    key = MigrationRecorder(connection).Migration._meta.pk
    assert type(key) is models.BigAutoField
    assert min(MigrationRecorder.Migration.objects.values_list("id", flat=True)) == 1


def test_a_migration_holds_a_name_and_comes_once(site):
    """What is written is read again; the second time there is nothing to write."""
    from django.db.migrations.autodetector import MigrationAutodetector
    from django.db.migrations.graph import MigrationGraph
    from django.db.migrations.questioner import MigrationQuestioner
    from django.db.migrations.state import ModelState, ProjectState
    from django.db.migrations.writer import MigrationWriter

    before = ProjectState()
    before.add_model(ModelState.from_model(apps.get_model("contenttypes", "ContentType")))
    asked = MigrationQuestioner({"ask_initial": True})
    made = MigrationAutodetector(before, ProjectState.from_apps(apps), asked).changes(
        MigrationGraph()
    )["site"]
    for migration in made:
        text = MigrationWriter(migration).as_string()
        assert "frazil.django.FrazilAutoField(" in text
        assert "Generator" not in text
        assert "memory:" not in text
        space: dict = {}
        exec(text, space)
        for operation in space["Migration"].operations:
            operation.state_forwards("site", before)
    assert "scheme='order'" in text
    again = MigrationAutodetector(before, ProjectState.from_apps(apps), asked).changes(
        MigrationGraph()
    )
    assert "site" not in again
    historical = before.apps.get_model("site", "Customer")
    assert historical._meta.pk.declaration.name == "site.Customer"


def test_a_field_is_given_a_name_and_no_scheme(site):
    from frazil.django import FrazilAutoField

    with pytest.raises(ConfigError, match="not Scheme; declare the scheme in FRAZIL"):
        FrazilAutoField(ORDER, primary_key=True)
