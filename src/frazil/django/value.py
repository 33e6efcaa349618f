"""The value of an ID in a model: a number that shows itself as text.

A plain ``int`` is right in Python and in the table. Django shows a value with ``str``, in URLs,
templates, hidden inputs, the admin and its log, and so every place would show digits and need a
line that converts. A ``str`` would be right there, but a number that someone assigned, or that came
from another layer, would not equal it, and would not be found in a dictionary with IDs as keys.

So it is an ``int`` in all that it does (``==``, ``hash``, ``<``, ``%d``), and ``str`` and
``format`` write the text. It knows the name of its declaration and not the scheme, so a pickle in a
cache holds a number and a name.

Limit: ``json`` writes every subclass of ``int`` as a number; ``with_texts`` comes before it.
"""

from typing import Any, Self

from frazil.django.declared import Declaration, declared
from frazil.errors import CodecError
from frazil.schemes.scheme import Scheme


class Id(int):
    """An ID: an int whose ``str`` is its text. name: its declaration in ``FRAZIL``."""

    name: str

    def __new__(cls, n: int, name: str) -> Self:
        self = super().__new__(cls, n)
        self.name = name
        return self

    @classmethod
    def read(cls, value: Any, declaration: Declaration) -> Self:
        """The ID of a number or a text, of a declaration. Raises CodecError."""
        return cls(declaration.read(value), declaration.name)

    @property
    def scheme(self) -> Scheme:
        """How it is cut and shown: ``order.id.scheme.unpack(order.id).moment``."""
        return declared(self.name).scheme

    def __str__(self) -> str:
        return declared(self.name).format(int(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (int(self), self.name)


def why(error: CodecError) -> str:
    """The reason, without the drawing below it, which is for a terminal."""
    return str(error).partition("\n")[0]


def with_texts(value: Any) -> Any:
    """The same with the text of each ``Id``, for what writes an ``int`` as a number."""
    if isinstance(value, Id):
        return str(value)
    if isinstance(value, dict):
        return {with_texts(key): with_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(one) for one in value]
    return value
