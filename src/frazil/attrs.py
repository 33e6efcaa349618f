"""attrs: a converter and a validator for a field that holds an ID.

    id: int = field(converter=converter(order), repr=order.format)

attrs checks nothing by itself: a text from a URL or a number of another table would stay in the
field. The converter turns every form of an ID into an int; the validator accepts only ints.

Limit: mypy accepts only named functions as converters. If you use mypy, write a function that
returns ``order.read(value)``.
"""

from collections.abc import Callable
from typing import Any

from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of

__all__ = ["converter", "validator"]


def converter(scheme: Scheme | str) -> Callable[[object], int]:
    """A converter from an int, a text or a UUID to an ID; CodecError for anything else.

    For an optional field: ``attrs.converters.optional(converter(scheme))``.
    """
    return scheme_of(scheme).read


def validator(scheme: Scheme | str) -> Callable[[Any, Any, Any], None]:
    """A validator: the field holds an int that is an ID, else a CodecError names the field."""
    known = scheme_of(scheme)

    def check(_instance: Any, attribute: Any, value: Any) -> None:
        try:
            if isinstance(value, str):
                raise CodecError(f"it is the text {value!r}, and not an int")
            known.read(value)
        except CodecError as error:
            message = f"{attribute.name}: {error}; give an ID of scheme {known.name!r}"
            raise CodecError(message, **{"value": value, **error.facts}) from None

    return check
