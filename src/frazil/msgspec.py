"""msgspec: a type for IDs, and the hooks that write it as text.

    class OrderId(Id, scheme=order): ...

msgspec writes an int as a number, which JavaScript rounds, and calls a hook only for types that it
does not know. So an ID has a type of its own, a subclass of int. ``OrderId(...)`` reads an int, a
text or a UUID by the scheme, and ``enc_hook``, ``dec_hook`` and ``schema_hook`` do the rest.

Limit: msgspec does not check the fields of a Struct that Python code makes, so write
``Order(OrderId(ids()))``; a plain int there is written as a number.
"""

from typing import Any, ClassVar, Self

from frazil.errors import Misuse
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of

__all__ = ["Id", "dec_hook", "enc_hook", "schema_hook"]


class Id(int):
    """An ID of the scheme that a subclass names: ``class OrderId(Id, scheme=order): ...``.

    Raises CodecError for a value that is not an ID, and Misuse for a class without a scheme.
    """

    scheme: ClassVar[Scheme]

    def __init_subclass__(cls, *, scheme: Scheme | str | None = None) -> None:
        super().__init_subclass__()
        if scheme is not None:
            cls.scheme = scheme_of(scheme)
        if not hasattr(cls, "scheme"):
            raise Misuse(
                f"class {cls.__name__} has no scheme; write class {cls.__name__}(Id, scheme=...)"
            )

    def __new__(cls, value: object) -> Self:
        """The ID of a value: an int, its text, or a UUID of 128 bits."""
        if cls is Id:
            raise Misuse(
                "Id itself has no scheme; make a class with one: class OrderId(Id, scheme=order)"
            )
        return super().__new__(cls, cls.scheme.read(value))

    def __str__(self) -> str:
        return self.scheme.format(int(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (int(self),)


def enc_hook(value: Any) -> str:
    """The text of an ID, for ``msgspec.json.encode(..., enc_hook=enc_hook)``."""
    if isinstance(value, Id):
        return str(value)
    raise NotImplementedError(f"{type(value)} is not a type of frazil")


def dec_hook(kind: type, value: Any) -> Any:
    """The ID of a text, for ``msgspec.json.decode(..., dec_hook=dec_hook)``.

    Raises CodecError, and Misuse for a number; msgspec turns both into its ValidationError.
    """
    if issubclass(kind, Id):
        if isinstance(value, str):
            return kind(value)
        raise Misuse(f"an ID must be text in JSON, not {type(value).__name__}", value=value)
    raise NotImplementedError(f"{kind} is not a type of frazil")


def schema_hook(kind: type) -> dict[str, Any]:
    """The JSON schema of an ID, for ``msgspec.json.schema(..., schema_hook=schema_hook)``."""
    if issubclass(kind, Id):
        return {"type": "string", "pattern": kind.scheme.pattern}
    raise NotImplementedError(f"{kind} is not a type of frazil")
