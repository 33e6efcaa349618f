"""The form field: an ID as the text that people see elsewhere."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from frazil.django.declared import declared
from frazil.django.value import Id, why
from frazil.errors import CodecError

__all__ = ["IdFormField"]


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
