"""JSON of Django REST framework: texts, and 400 for anything else."""

import json

import pytest

from frazil.errors import ConfigError


def serializer_of(model, **options):
    from rest_framework import serializers

    meta = type("Meta", (), {"model": model, "fields": "__all__", **options})
    return type("Made", (serializers.ModelSerializer,), {"Meta": meta})


def as_json(serializer):
    from rest_framework.renderers import JSONRenderer

    return json.loads(JSONRenderer().render(serializer.data))


def test_ids_and_foreign_keys_are_texts(site):
    customer = site.Customer.objects.create()
    order = site.Order.objects.create(customer=customer)
    order.tags.add(tag := site.Tag.objects.create())
    site.Item.objects.create(order=order, payment=0xA1)
    item = site.Item.objects.get()
    assert as_json(serializer_of(site.Item)(item)) == {
        "id": str(item.id),
        "order": str(order.id),
        "payment": "pay_00000000000000a1",
    }
    assert as_json(serializer_of(site.Order)(order)) == {
        "id": str(order.id),
        "note": "",
        "customer": str(customer.id),
        "tags": [str(tag.id)],
    }
    plain = site.Plain.objects.create(order=order)
    assert as_json(serializer_of(site.Plain)(plain)) == {"id": plain.id, "order": str(order.id)}


def test_a_number_that_was_assigned_is_a_text_too(site):
    order = site.Order.objects.create()
    item = site.Item(id=5, order_id=int(order.id))
    assert as_json(serializer_of(site.Item)(item))["order"] == str(order.id)
    read_only = serializer_of(site.Item, read_only_fields=["order"])
    assert as_json(read_only(item)) == {"id": "5", "order": str(order.id), "payment": None}


def test_texts_are_accepted(site):
    order, tag = site.Order.objects.create(), site.Tag.objects.create()
    sent = serializer_of(site.Item)(
        data={"order": str(order.id), "payment": "pay_" + "0" * 14 + "a1"}
    )
    assert sent.is_valid(), sent.errors
    assert sent.save().order == order
    many = serializer_of(site.Order)(data={"tags": [str(tag.id)]})
    assert many.is_valid(), many.errors
    assert list(many.save().tags.all()) == [tag]


@pytest.mark.parametrize(
    "wrong", ["", "nonsense", "order_zzzzzzzzzzz", "order_AzL8n0Y58m8", 1, 1.5, True, [], {}]
)
def test_anything_else_is_an_error_of_its_field(site, wrong):
    serializer = serializer_of(site.Item)(data={"order": wrong, "payment": wrong})
    assert not serializer.is_valid()
    assert set(serializer.errors) >= {"order"} if wrong == "" else {"order", "payment"}


def test_a_field_of_a_plain_serializer(site):
    from rest_framework import serializers

    from frazil.django.rest import IdField

    class Asked(serializers.Serializer):
        order = IdField("order")

    order = site.Order.objects.create()
    asked = Asked(data={"order": str(order.id)})
    assert asked.is_valid()
    assert asked.validated_data == {"order": order.id}
    assert Asked(data={"order": order.id}).is_valid()
    for wrong in (int(order.id), site.Tag.objects.create().id, True, 1.5):
        assert not Asked(data={"order": wrong}).is_valid()
    assert Asked({"order": int(order.id)}).data == {"order": str(order.id)}


def test_a_field_without_a_scheme_says_what_to_write(site):
    from rest_framework import serializers

    from frazil.django.rest import IdField

    class Made(serializers.ModelSerializer):
        note = IdField()

        class Meta:
            model = site.Order
            fields = ("note",)

    with pytest.raises(
        ConfigError, match=r"note is not an ID of Order; name its scheme, like IdField\("
    ):
        _ = Made().fields


def test_the_schema_of_openapi_has_the_pattern(site):
    from rest_framework.schemas.openapi import AutoSchema

    shown = AutoSchema().map_serializer(serializer_of(site.Item)())["properties"]
    assert shown["id"] == {"type": "string", "readOnly": True, "pattern": "^(0|[1-9][0-9]{0,19})$"}
    assert shown["order"]["type"] == "string"
    assert shown["payment"]["pattern"] == "^pay_[0123456789abcdef]{16}$"
    assert shown["payment"]["type"] == "string"


def test_what_no_field_wrote_is_a_text_too(site):
    """Fields that pass on what they are given, nested serializers, and keys."""
    from rest_framework import serializers

    class Shown(serializers.ModelSerializer):
        customer = serializers.SlugRelatedField(slug_field="id", read_only=True)
        tags = serializers.SlugRelatedField(slug_field="pk", read_only=True, many=True)
        items = serializer_of(site.Item, fields=["id", "order"])(many=True)
        method = serializers.SerializerMethodField()
        mapping = serializers.SerializerMethodField()
        source = serializers.ReadOnlyField(source="id")
        plain_dict = serializers.DictField(source="extra")
        primary = serializers.PrimaryKeyRelatedField(source="customer", read_only=True)

        class Meta:
            model = site.Order
            fields = "__all__"

        def get_method(self, order):
            return order.id

        def get_mapping(self, order):
            return {order.id: [(order.id, {"deep": order.customer_id})]}

    customer = site.Customer.objects.create()
    order = site.Order.objects.create(customer=customer)
    order.tags.add(tag := site.Tag.objects.create())
    site.Item.objects.create(order=order)
    order.extra = {"one": order.id}
    text, buyer = str(order.id), str(customer.id)
    assert as_json(Shown(order)) == {
        "id": text,
        "note": "",
        "customer": buyer,
        "tags": [str(tag.id)],
        "items": [{"id": str(site.Item.objects.get().id), "order": text}],
        "method": text,
        "mapping": {text: [[text, {"deep": buyer}]]},
        "source": text,
        "plain_dict": {"one": text},
        "primary": buyer,
    }


def test_the_answer_of_a_view_has_texts(site):
    from django.db.models import F, Max
    from rest_framework.response import Response
    from rest_framework.test import APIRequestFactory
    from rest_framework.views import APIView

    customer = site.Customer.objects.create()
    order = site.Order.objects.create(customer=customer)
    orders = site.Order.objects
    answer = {
        "values": orders.values("id", "customer", "customer_id", other=F("customer__id")),
        "list": orders.values_list("id", flat=True),
        "last": orders.aggregate(last=Max("id")),
        "id": order.pk,
        "number": int(order.pk),
    }
    view = type("View", (APIView,), {"get": lambda _self, _request: Response(answer)})
    text, buyer = str(order.id), str(customer.id)
    reply = view.as_view()(APIRequestFactory().get("/", HTTP_ACCEPT="application/json")).render()
    assert json.loads(reply.content) == {
        "values": [{"id": text, "customer": buyer, "customer_id": buyer, "other": buyer}],
        "list": [text],
        "last": {"last": text},
        "id": text,
        "number": int(order.id),
    }
