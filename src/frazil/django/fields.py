"""The model fields: a BIGINT that knows its scheme.

``FrazilAutoField`` is a primary key. Its ID is made in Python with the INSERT, so no row is read
back. It is a ``BigAutoField`` because Django accepts nothing else as ``DEFAULT_AUTO_FIELD``, but
its column is a plain BIGINT without a sequence. ``save`` of an object with a key first tries an
UPDATE, so a key must not exist before ``save`` has decided to insert.

The usual way, ``default=ids``, puts a generator into the field, and so into every migration.
Here a field carries a name, and a migration holds ``FrazilAutoField("order", ...)``.

A value is read in three places, each as strict as it can be. A **lookup** accepts the text of an
ID, or any number, because ``id__gt=0`` is a valid query. A **save** accepts an ID of the scheme
only. A **form** or fixture (``to_python``) raises ValidationError for a wrong value.

Foreign keys need no field of their own: Django uses the field that they refer to.
"""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from functools import reduce, wraps
from inspect import signature
from operator import or_
from typing import Any

from django import forms
from django.contrib.admin.utils import quote
from django.core import checks
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q, QuerySet
from django.db.models.signals import pre_save
from django.utils.translation import gettext_lazy

from frazil.django.declared import Declaration, Id, declared, why
from frazil.errors import CodecError, ConfigError

_AT_ONCE = 100  # rows of one query


class IdColumn(models.Field):
    """What both fields share. scheme: a name in ``FRAZIL["schemes"]``.

    Without a name it is the entry of the model's label, like ``shop.Order``, or ``default``.
    """

    default_error_messages = {  # noqa: RUF012 - as Django's fields
        "invalid": gettext_lazy("“%(value)s” is not an ID: %(reason)s")
    }

    def __init__(self, scheme: str | None = None, verbose_name: Any = None, **options: Any) -> None:
        if not isinstance(scheme, str | None):
            raise ConfigError(
                f"scheme= must be the name of a scheme, not {type(scheme).__name__}; declare the "
                'scheme in FRAZIL["schemes"], and write its name here'
            )
        self.scheme_name = scheme
        super().__init__(verbose_name, **options)

    @property
    def declaration(self) -> Declaration:
        """Its entry in ``FRAZIL["schemes"]``. Raises ConfigError if there is none."""
        model = getattr(self, "model", None)
        return declared(self.scheme_name, model._meta.label if model else None)

    def deconstruct(self) -> Any:
        """For a migration: the name of the scheme and no generator."""
        name, _, args, kwargs = super().deconstruct()
        if self.scheme_name is not None:
            kwargs["scheme"] = self.scheme_name
        return name, f"frazil.django.{type(self).__name__}", args, kwargs

    def get_internal_type(self) -> str:
        """A plain BIGINT; no sequence and no identity belongs to it."""
        return "BigIntegerField"

    def from_db_value(self, value: int | None, *_: object) -> Id | None:
        return None if value is None else Id(value, self.declaration.name)

    def to_python(self, value: Any) -> Id | None:
        """The ID of a number or text. Raises ValidationError for anything else."""
        if value is None or isinstance(value, Id):
            return value
        declaration = self.declaration
        for candidate in _before_unquoting(value, declaration.scheme.prefix):
            with suppress(CodecError):
                return Id.read(candidate, declaration)
        try:
            return Id.read(value, declaration)
        except CodecError as error:
            raise ValidationError(
                self.error_messages["invalid"],
                code="invalid",
                params={"value": value, "reason": why(error)},
            ) from error

    def get_prep_value(self, value: Any) -> Any:
        """The number for a lookup. Raises CodecError, a ValueError, unless a text is an ID."""
        if isinstance(value, str):
            return self.declaration.read(value)
        return super().get_prep_value(value)

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        """The number for a row. Raises CodecError for one that is not an ID of the scheme."""
        if value is not None and not hasattr(value, "resolve_expression"):
            value = self.declaration.read(value)
        return super().get_db_prep_save(value, connection)

    def pre_save(self, model_instance: Any, add: bool) -> Any:  # noqa: FBT001 - Django's
        """The value to save; a number or text that was assigned becomes an ``Id``."""
        value = super().pre_save(model_instance, add)
        if isinstance(value, str | int) and not isinstance(value, Id):
            value = Id.read(value, self.declaration)
            setattr(model_instance, self.attname, value)
        return value

    def value_to_string(self, obj: Any) -> str:
        value = self.to_python(self.value_from_object(obj))
        return "" if value is None else str(value)

    def check(self, **kwargs: Any) -> list[Any]:
        """Django's checks, and that the scheme is declared and fits a BIGINT."""
        return [*super().check(**kwargs), *self._check_scheme()]

    def _check_scheme(self) -> list[Any]:
        try:
            declaration = self.declaration
        except ConfigError as error:
            return [checks.Error(str(error), obj=self, id="frazil.E002")]
        if declaration.scheme.signed_safe:
            return []
        problem = (
            f"the largest ID of {declaration.name!r} has {declaration.scheme.id_max.bit_length()} "
            "bits, and a signed BIGINT holds 63"
        )
        hint = 'use a scheme whose first bit is constant, like "icicle" or "sonyflake"'
        return [checks.Error(problem, hint=hint, obj=self, id="frazil.E003")]


class FrazilAutoField(IdColumn, models.BigAutoField):
    """A primary key that is made before the INSERT: ``FrazilAutoField("order", primary_key=True)``.

    Also for ``DEFAULT_AUTO_FIELD = "frazil.django.FrazilAutoField"``.
    """

    description = gettext_lazy("ID")
    db_returning = False

    def contribute_to_class(self, cls: Any, name: str, **options: Any) -> None:
        """Become a field of a model.

        Where ``DEFAULT_AUTO_FIELD`` is for the table of applied migrations, which belongs to no
        app, the database numbers the rows: ``migrate`` runs before there is a store for claims.
        """
        if self.auto_created and cls._meta.app_config is None:
            plain = models.BigAutoField(self.verbose_name, primary_key=True, auto_created=True)
            plain.contribute_to_class(cls, name, **options)
        else:
            super().contribute_to_class(cls, name, **options)
            # Django leaves this very field out of an INSERT without a key; the admin asks only
            # whether there is one.
            cls._meta.auto_field = copy(self)

    def new_id(self) -> Id:
        """A new ID. Raises PoolExhausted or RegistryUnavailable after the timeout."""
        declaration = self.declaration
        return Id(declaration.generator()(), declaration.name)

    def pre_save(self, model_instance: Any, add: bool) -> Any:  # noqa: FBT001 - Django's
        """The value to save; a row that is inserted without an ID gets one."""
        if add and getattr(model_instance, self.attname) is None:
            setattr(model_instance, self.attname, self.new_id())
        return super().pre_save(model_instance, add)


class FrazilField(IdColumn, models.BigIntegerField):
    """A column that holds an ID from elsewhere: of another database, or of a service."""

    description = gettext_lazy("ID of another table")

    def formfield(self, **kwargs: Any) -> Any:
        name = self.declaration.name
        return models.Field.formfield(self, **{"form_class": IdFormField, "scheme": name, **kwargs})


def _before_unquoting(value: object, prefix: str) -> list[str]:
    """The texts of which Django's admin may have made this one.

    The admin quotes a str in a URL but not a number, and unquotes both. Of the text ``order_2Fxy``
    it makes ``order/xy``, and of ``order_5Fxy`` ``order_xy``. Neither is an ID, as no text has such
    a character and each of these encodings writes all digits.
    """
    if not isinstance(value, str):
        return []
    again = "_".join(map(quote, value.split("_")))
    if again != value:
        return [again]
    return [f"{prefix}5F{value.removeprefix(prefix)}"] if prefix else []


class IdFormField(forms.CharField):
    """Shows and accepts the text. scheme: a name in ``FRAZIL["schemes"]``.

    Its clean value is an ``Id``, or None for an empty input.
    """

    def __init__(self, scheme: str, **options: Any) -> None:
        self.scheme_name = scheme
        for limit in ("min_value", "max_value"):  # an ID has no size to compare
            options.pop(limit, None)
        super().__init__(**options)

    def prepare_value(self, value: Any) -> Any:
        """The text of a number; a text that was typed stays as it is."""
        if isinstance(value, int) and not isinstance(value, bool):
            return declared(self.scheme_name).format(int(value))
        return value

    def to_python(self, value: Any) -> Any:
        """The ID. Raises ValidationError for a text that is not one."""
        text = super().to_python(value)
        if text in self.empty_values:
            return None
        try:
            return Id.read(text, declared(self.scheme_name))
        except CodecError as error:
            raise ValidationError(why(error), code="invalid") from error


def cover(kind: Any) -> None:
    """Make IDs for the fields of a class where Django does not ask them.

    - *A fixture* is saved as it is (``raw``). An object without a key gets one from the signal.
    - *bulk_create* leaves out the column of an auto field, for the database to fill. Here each
      object gets its ID first, and all IDs are taken in one step. With ``ignore_conflicts`` no
      database tells which rows it made, so the keys are None again; with ``update_conflicts`` they
      are read back by the unique fields. Django has no hook for this, so its method is wrapped.
    """

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


cover(FrazilAutoField)
