"""Django REST framework: IDs are texts in JSON, also those of related rows.

A number of 64 bits in JSON is rounded by JavaScript: it reads ...721 as ...700, and requests a row
that does not exist. With this app installed, a ``ModelSerializer`` shows a ``FrazilAutoField``, a
``FrazilField`` and foreign keys to them as texts. It accepts the text alone; a wrong one, and a
number, answer 400. A number is refused because a client that sends one may have rounded it.

``IdField("order")`` is for a plain ``Serializer``, and ``IdRelatedField`` for a related row there.

**Values without a field**: ``SerializerMethodField``, ``SlugRelatedField``, ``DictField``,
``values()`` and a view's own ``Response`` hold an ``Id`` as it is, which is an int to ``json``. So
the encoder of DRF's ``JSONRenderer`` is one that writes each ``Id`` as text, wherever it stands,
also as a key.

Limits: an ID that became an ordinary int, as by ``int(order.id)`` or raw SQL, is a number. A
renderer or encoder of your own is not changed; ``IdEncoder`` is for it. DRF's own related fields,
declared by hand, also read numbers, since a lookup does; ``IdRelatedField`` does not.
"""

from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from rest_framework import renderers, serializers
from rest_framework.utils.encoders import JSONEncoder

from frazil.django.declared import Declaration, Id, declared, why, with_texts
from frazil.django.fields import FrazilAutoField, FrazilField, IdColumn
from frazil.errors import CodecError, ConfigError

__all__ = ["IdEncoder", "IdField", "IdRelatedField", "register"]


class IdField(serializers.CharField):
    """The text of an ID. scheme: a name in ``FRAZIL["schemes"]``.

    In a ``ModelSerializer`` it may be left out: the model's field knows it. The validated value is
    an ``Id``. The schema of OpenAPI has the pattern.
    """

    def __init__(self, scheme: str | None = None, **options: Any) -> None:
        self.scheme_name = scheme
        for limit in ("min_value", "max_value"):  # an ID has no size to compare
            options.pop(limit, None)
        super().__init__(**options)
        if scheme is not None:
            self._describe(declared(scheme))

    def bind(self, field_name: str, parent: Any) -> None:
        """Take the scheme from the model's field, if none was named."""
        super().bind(field_name, parent)
        if self.scheme_name is None:
            column = _column(parent.Meta.model, self.source)
            if column is None:
                raise ConfigError(
                    f"{field_name} is not an ID of {parent.Meta.model.__name__}; name its scheme, "
                    'like IdField("order")'
                )
            self.scheme_name = column.declaration.name
            self._describe(column.declaration)

    def _describe(self, declaration: Declaration) -> None:
        self.validators = [*self.validators, RegexValidator(declaration.pattern)]

    def to_internal_value(self, data: Any) -> Id:
        """The ID of a text. Raises ValidationError for anything else."""
        declaration = declared(self.scheme_name)
        if isinstance(data, Id) and data.name == declaration.name:
            return data  # from Python; JSON has no such value
        if not isinstance(data, str) and declaration.old_key(data) is None:
            raise serializers.ValidationError(
                f"An ID must be a text in JSON, not {type(data).__name__}.", code="invalid"
            )
        try:
            return Id.read(data, declaration)
        except CodecError as error:
            raise serializers.ValidationError(why(error), code="invalid") from error

    def to_representation(self, value: Any) -> str:
        return declared(self.scheme_name).text_of(value)


class IdRelatedField(serializers.PrimaryKeyRelatedField):
    """A related row by the text of its ID; as its base for rows with another key."""

    _pk_field: Any = None

    @property
    def pk_field(self) -> Any:
        """The field of the related key: the one that was passed, else by the related model."""
        if self._pk_field is None and (column := self._column()) is not None:
            self._pk_field = IdField(column.declaration.name)
        return self._pk_field

    @pk_field.setter
    def pk_field(self, given: Any) -> None:
        self._pk_field = given

    def _column(self) -> IdColumn | None:
        if self.queryset is not None:
            return _column(self.queryset.model, "pk")
        many = isinstance(self.parent, serializers.ManyRelatedField)
        bound = self.parent if many else self
        model = getattr(getattr(bound.parent, "Meta", None), "model", None)
        return None if model is None else _column(model, bound.source)


class IdEncoder(JSONEncoder):
    """The JSON encoder of DRF, which writes an ``Id`` as text wherever it stands."""

    def encode(self, o: Any) -> str:
        return str(super().encode(with_texts(o)))

    def default(self, obj: Any) -> Any:
        """The JSON value for a type that JSON does not have, like a query set."""
        return with_texts(super().default(obj))


def _column(model: Any, source: str) -> IdColumn | None:
    """The ID at the end of a source like ``id``, ``order`` or ``order.id``; None for another."""
    for part in source.split("."):
        field = model._meta.pk if part == "pk" else model._meta.get_field(part.removesuffix("_id"))
        while field.is_relation:
            model = field.related_model
            field = getattr(field, "target_field", None) or model._meta.pk
    return field if isinstance(field, IdColumn) else None


def register() -> None:
    """Make these the fields of every ``ModelSerializer``, and the encoder of ``JSONRenderer``."""
    mapping: dict[type[models.Field], Any] = serializers.ModelSerializer.serializer_field_mapping
    mapping[FrazilAutoField] = mapping[FrazilField] = IdField
    serializers.ModelSerializer.serializer_related_field = IdRelatedField
    if renderers.JSONRenderer.encoder_class is JSONEncoder:
        renderers.JSONRenderer.encoder_class = IdEncoder
