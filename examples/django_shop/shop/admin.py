"""The admin: nothing in it is about IDs, but the column to search."""

from django.contrib import admin

from shop.models import Customer, Item, Order


class ItemInline(admin.TabularInline):
    """The lines of an order."""

    model = Item
    extra = 1


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    """Orders, found by the text of their ID."""

    list_display = ("id", "note")
    search_fields = ("id", "note")
    inlines = (ItemInline,)


@admin.register(Customer)
class CustomerAdmin(admin.ModelAdmin):
    """Customers."""
