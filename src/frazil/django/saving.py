"""The ID of a new row, made where a database would make it: with the INSERT.

``save`` of an object with a key first tries an UPDATE, and without one it inserts. So a key must
not exist before ``save`` has decided: ``FrazilAutoField.pre_save`` makes it with the INSERT. Django
never asks a field in two places, which this module covers:

- *A fixture* is saved as it is (``raw``). An object without a key gets one from the signal before.
- *bulk_create* leaves out the column of an auto field, for the database to fill. Here each object
  gets its ID first, and all IDs are taken in one step. With ``ignore_conflicts`` no database tells
  which rows it made, so the keys are None again; with ``update_conflicts`` they are read back by
  the unique fields. Django has no hook for this, so its method is wrapped.
"""

from collections.abc import Sequence
from functools import reduce, wraps
from inspect import signature
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.signals import pre_save

from frazil.django.value import Id

_AT_ONCE = 100  # rows of one query


def cover(kind: Any) -> None:
    """Make IDs for the fields of a class where Django does not ask them."""

    def fill(sender: Any, instance: Any, raw: bool, **_: object) -> None:  # noqa: FBT001
        if raw and isinstance(sender._meta.pk, kind) and instance.pk is None:
            instance.pk = sender._meta.pk.new_id()

    pre_save.connect(fill, weak=False, dispatch_uid="frazil.django")
    original = QuerySet.bulk_create
    parameters = signature(original)

    @wraps(original)
    def bulk_create(queryset: Any, objs: Any, *args: Any, **options: Any) -> Any:
        field = queryset.model._meta.pk
        if not isinstance(field, kind):
            return original(queryset, objs, *args, **options)
        objs = list(objs)
        fresh = [each for each in objs if each.pk is None]
        for each, n in zip(fresh, field.declaration.generator().take(len(fresh)), strict=True):
            each.pk = Id(n, field.declaration.name)
        given = parameters.bind(queryset, objs, *args, **options).arguments
        try:
            made = original(queryset, objs, *args, **options)
        except BaseException:
            _forget(fresh)
            raise
        if given.get("ignore_conflicts"):
            _forget(fresh)
        elif given.get("update_conflicts"):
            _read_back(queryset, fresh, given.get("unique_fields") or ())
        return made

    QuerySet.bulk_create = bulk_create


def _forget(objs: Sequence[Any]) -> None:
    """Take back keys that no row may have."""
    for each in objs:
        each.pk = None
        each._state.adding = True


def _read_back(queryset: Any, objs: Sequence[Any], unique: Sequence[str]) -> None:
    """The key of the row that each object has become; None where nothing tells the row."""
    meta = queryset.model._meta
    fields = [meta.pk if name == "pk" else meta.get_field(name) for name in unique]
    if meta.pk in fields:
        return
    rows = queryset.model._base_manager.using(queryset.db)
    names = [field.attname for field in fields]
    for first in range(0, len(objs), _AT_ONCE):
        some = objs[first : first + _AT_ONCE]
        values = [tuple(f.to_python(getattr(each, f.attname)) for f in fields) for each in some]
        found = {}
        if names:
            wanted = (Q(**dict(zip(names, value, strict=True))) for value in values)
            found = {
                row[1:]: row[0]
                for row in rows.filter(reduce(or_, wanted)).values_list("pk", *names)
            }
        for each, value in zip(some, values, strict=True):
            each.pk = found.get(value)
