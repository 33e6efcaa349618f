"""Django: primary keys that are made in Python, stored as BIGINT and shown as text.

An ID that is right in the table is often wrong elsewhere. The form shows another text than the URL,
the API sends a number that JavaScript rounds, and each view has a line that converts. This app
declares once how an ID looks (``FRAZIL`` in the settings), and every layer of Django uses that::

    INSTALLED_APPS = ["frazil.django", ...]
    DEFAULT_AUTO_FIELD = "frazil.django.FrazilAutoField"
    FRAZIL = {"url": "redis://cache", "schemes": {"order": {"prefix": "order_"}}}

    class Order(models.Model):
        id = FrazilAutoField("order", primary_key=True)

The ID is made before the INSERT. The value of a model is an ``Id``: an ``int``, so it computes,
compares and sorts as the number in the table, and ``str`` of it is the text. So URLs, templates,
the admin and logs show the text without more code.

Limits: the column is a signed BIGINT, so a scheme of more bits is refused by a system check.
``json.dumps`` writes any ``int`` as a number; ``str(order.id)`` or ``frazil.django.rest`` writes
the text. docs/how-to/django.md shows all of it.
"""

from frazil.system.extras import missing_extra

try:
    from frazil.django.declared import Id
    from frazil.django.fields import FrazilAutoField, FrazilField, IdFormField
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "django":
        raise
    raise missing_extra("frazil.django needs the package Django", "django", error) from error

__all__ = ["FrazilAutoField", "FrazilField", "Id", "IdFormField"]
