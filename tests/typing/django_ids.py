"""A type for the IDs of each model of Django: what passes, and what is refused; see ids.py.

Only with the types of Django, django-stubs, which tests/house/test_types.py asks for.
"""

from typing import NewType, assert_type

from django.db import models

from frazil.django import FrazilAutoField, FrazilField

CustomerId = NewType("CustomerId", int)
OrderId = NewType("OrderId", int)


class Order(models.Model):
    """An order."""

    id: "models.Field[OrderId, OrderId]" = FrazilAutoField("order", primary_key=True)
    customer: "models.Field[CustomerId, CustomerId]" = FrazilField("customer")


def ship(order_id: OrderId) -> None:
    """What takes the ID of an order and no other."""


def use(made: Order, one: CustomerId) -> None:
    """Each kind of use, right and wrong."""
    assert_type(made.id, OrderId)
    assert_type(made.customer, CustomerId)
    ship(made.id)
    made.customer = one

    ship(made.customer)  # type: ignore[arg-type]
    ship(one)  # type: ignore[arg-type]
    made.customer = made.id  # type: ignore[assignment]
