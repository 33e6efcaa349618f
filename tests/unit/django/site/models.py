"""Models with each kind of ID: named, by label, by default, inherited, from elsewhere."""

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models

from frazil.django import FrazilAutoField, FrazilField


class Tag(models.Model):
    """Of the scheme ``default``."""

    name = models.CharField(max_length=50)


class Customer(models.Model):
    """Of the scheme ``site.Customer``."""

    name = models.CharField(max_length=50)


class Order(models.Model):
    id = FrazilAutoField("order", primary_key=True)
    note = models.CharField(max_length=50, default="")
    customer = models.ForeignKey(Customer, models.CASCADE, null=True, blank=True)
    tags = models.ManyToManyField(Tag, blank=True)
    notes = GenericRelation("Note", "object_id", "about")


class Gift(Order):
    """Its key is that of an order."""

    ribbon = models.CharField(max_length=50)


class Item(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="items")
    payment = FrazilField("payment", null=True, blank=True)


class Plain(models.Model):
    """A key that the database numbers."""

    id = models.BigAutoField(primary_key=True)
    order = models.ForeignKey(Order, models.CASCADE, null=True)


class Code(models.Model):
    """With a text that no other row has."""

    text = models.CharField(max_length=50, unique=True)
    note = models.CharField(max_length=50, default="")


class Note(models.Model):
    """About any object, by the text of its key."""

    about = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.CharField(max_length=50)
    thing = GenericForeignKey("about", "object_id")
