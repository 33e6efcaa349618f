"""URL converters: one for each declared scheme, ``path("orders/<frazil.order:pk>/", view)``.

A view with ``<str:pk>`` gets any text, and has to answer a wrong one itself. The converter matches
the text of an ID of this scheme only, so anything else is a 404, and the view gets an ``Id``.
``reverse`` accepts a number, an ``Id`` or its text.
"""

from typing import Any

from django.urls.converters import get_converters, register_converter

from frazil.django.declared import Id, declarations, declared


class _Converter:
    """The interface of a converter: ``regex``, ``to_python`` and ``to_url``."""

    name: str
    regex: str

    def to_python(self, text: str) -> Id:
        """The ID; a ValueError means that the URL does not match."""
        return Id.read(text, declared(self.name))

    def to_url(self, value: Any) -> str:
        """The text. Raises CodecError, a ValueError, for a value that is not an ID."""
        return declared(self.name).text_of(value)


def register() -> None:
    """Register a converter ``frazil.NAME`` for each declaration, once."""
    for name, declaration in declarations().items():
        if f"frazil.{name}" in get_converters():
            continue
        pattern = declaration.pattern.removeprefix("^").removesuffix("$")
        # The pattern must have no numbered group.
        regex = pattern.replace("(?:", "(").replace("(", "(?:")
        kind = type("IdConverter", (_Converter,), {"name": name, "regex": regex})
        register_converter(kind, f"frazil.{name}")
