"""Customers, orders and their items."""

from django.db import models

from frazil.django import FrazilAutoField


class Customer(models.Model):
    """Its ID is that of DEFAULT_AUTO_FIELD, declared for the label ``shop.Customer``."""

    name = models.CharField(max_length=100)


class Order(models.Model):
    """Its ID names its scheme."""

    id = FrazilAutoField("order", primary_key=True)
    customer = models.ForeignKey(Customer, models.CASCADE, null=True, blank=True)
    note = models.CharField(max_length=100)


class Item(models.Model):
    """A line of an order; its ID is of the scheme ``default``."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="items")
    name = models.CharField(max_length=100)
