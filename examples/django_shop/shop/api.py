"""The API: orders as JSON."""

import logging

from django.db import transaction
from rest_framework import serializers, viewsets
from rest_framework.decorators import api_view
from rest_framework.response import Response

from shop.models import Item, Order

_log = logging.getLogger("shop")


class ItemSerializer(serializers.ModelSerializer):
    """A line of an order; ``order`` is a foreign key."""

    class Meta:
        model = Item
        fields = ("id", "order", "name")


class OrderSerializer(serializers.ModelSerializer):
    """An order and the IDs of its lines."""

    class Meta:
        model = Order
        fields = ("id", "customer", "note", "items")
        read_only_fields = ("items",)


class Orders(viewsets.ModelViewSet):
    """``/api/orders/``."""

    queryset = Order.objects.prefetch_related("items").order_by("id")
    serializer_class = OrderSerializer

    def perform_create(self, serializer):
        """Save it, and log it."""
        order = serializer.save()
        _log.info("new order %s", order.id)


class Items(viewsets.ModelViewSet):
    """``/api/items/``."""

    queryset = Item.objects.order_by("id")
    serializer_class = ItemSerializer


@api_view(["POST"])
def bulk(request, count):
    """Insert many orders with one INSERT, and answer their IDs."""
    with transaction.atomic():
        orders = Order.objects.bulk_create(Order(note="bulk") for _ in range(count))
    return Response([str(order.id) for order in orders])


@api_view(["GET"])
def order_page(request, order):
    """``/orders/order_.../``: the converter has read the ID."""
    found = Order.objects.filter(pk=order).first()
    return Response(found and OrderSerializer(found).data, status=200 if found else 404)
