"""Pydantic: IDs that are text in JSON and ints in Python, for models and for FastAPI.

    OrderId = Annotated[int, Id(order)]

JavaScript reads numbers as doubles, so an ID of 64 bits comes back with other last digits, and no
error. ``str`` as a type leaves every check to the application, and a number that no BIGINT holds
becomes an error of the database. So the type reads and writes by the scheme: its text in JSON, in
the URL and as a key; an int in Python, where a model is made from rows. Anything else is a
validation error, which FastAPI answers with 422. JSON schema and OpenAPI show the pattern.

**A number in a body.** The sender may have rounded it, and the rounded number is also an ID.
``validate_json`` refuses numbers, but FastAPI parses a body first and validates ints, as Python
code does. So for an int the validator finds out which code called Pydantic: where FastAPI solves
the parameters of a request, an int came out of JSON and is refused. A response and other Python
code may use ints.

Limits: a number is accepted from other frameworks that parse JSON themselves, and by a model with
an ``__init__`` of its own, because both look like Python code; there, pass the bytes to
``model_validate_json``. A default is not validated (Pydantic's rule), so pass a generator as
``default_factory``.
"""

import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, NewType

from frazil.errors import CodecError, ConfigError, Misuse
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as scheme_of
from frazil.system.extras import needs

with needs("frazil.pydantic: needs Pydantic 2", "pydantic"):
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import PydanticCustomError, core_schema

__all__ = ["Id"]

_EXACT_BITS = 53
_REQUESTS = "fastapi.dependencies.utils"  # validates parameters and bodies, and no responses
_ENTRANCES = {  # the modules that begin a validation
    "pydantic.type_adapter",
    "pydantic.main",
    "pydantic.root_model",
    "pydantic._internal._dataclasses",
}


@dataclass(frozen=True, init=False)
class Id:
    """Annotates an int as an ID of a scheme: ``Annotated[int, Id(scheme)]``.

    Instead of int it may be a ``NewType`` of int, so that type checkers tell the IDs of two tables
    apart.

    scheme: a Scheme, or what ``frazil.scheme`` reads. json: ``"number"`` writes numbers into JSON
    and reads them there beside text, if all IDs have at most 53 bits. Python code may use an int,
    the text, or a UUID for 128 bits. Raises ConfigError for numbers of a scheme that JavaScript
    would round.
    """

    scheme: Scheme
    json: Literal["text", "number"]

    def __init__(self, scheme: Scheme | str, *, json: Literal["text", "number"] = "text") -> None:
        object.__setattr__(self, "scheme", scheme_of(scheme))
        object.__setattr__(self, "json", json)
        if json not in {"text", "number"}:
            raise ConfigError(f"json= must be 'text' or 'number', not {json!r}", value=json)
        if json == "number" and self.scheme.id_max >= 1 << _EXACT_BITS:
            raise ConfigError(
                f"the IDs of scheme {self.scheme.name!r} reach {self.scheme.id_max}, and "
                f"JavaScript rounds numbers above {(1 << _EXACT_BITS) - 1}; leave out "
                "json='number', or use a scheme like 'js53'",
                scheme=self.scheme.name,
                value=self.scheme.id_max,
                limit=(1 << _EXACT_BITS) - 1,
            )

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """How Pydantic reads and writes it. Raises Misuse if the annotated type is not int."""
        del handler
        kind = source
        while isinstance(kind, NewType):  # an int for all but type checkers
            kind = kind.__supertype__
        if kind is not int:
            raise Misuse(
                f"an ID is an int in Python, not {source}; write Annotated[int, Id(scheme)], or a "
                "NewType of int instead of int, with '| None' after it if it is optional",
                value=source,
            )
        from_python = core_schema.no_info_plain_validator_function(self._read)
        written: core_schema.CoreSchema = core_schema.str_schema(strict=True)
        if self.json == "number":
            number = core_schema.int_schema(strict=True)
            written = core_schema.union_schema([number, written], mode="left_to_right")
        return core_schema.json_or_python_schema(
            json_schema=core_schema.chain_schema([written, from_python]),
            python_schema=from_python,
            serialization=core_schema.plain_serializer_function_ser_schema(
                self._write, when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The JSON schema of what is read (mode "validation") or written ("serialization")."""
        del schema
        text = {"type": "string", "pattern": self.scheme.pattern}
        number = {"type": "integer", "minimum": 0, "maximum": self.scheme.id_max}
        if self.json == "text":
            return text
        return number if handler.mode == "serialization" else {"anyOf": [number, text]}

    def _read(self, value: Any) -> int:
        if self.json == "text" and isinstance(value, int) and _is_of_a_request():
            reason = "a number in JSON may have been rounded; write the text of the ID"
            facts = {"reason": reason, "scheme": self.scheme.name}
            raise PydanticCustomError("frazil_id", "{reason}", facts)
        try:
            return self.scheme.read(value)
        except CodecError as error:
            # Without the drawing below it, which is for a terminal.
            reason = str(error).partition("\n")[0]
            facts = {"reason": reason, "scheme": self.scheme.name}
            raise PydanticCustomError("frazil_id", "{reason}", facts) from None

    def _write(self, value: Any) -> str | int:
        if callable(value):
            raise Misuse(
                f"{value!r} is a generator and not an ID; write Field(default_factory=...) in the "
                "model instead of a default"
            )
        return (
            self.scheme.codec.checked(value) if self.json == "number" else self.scheme.format(value)
        )


def _is_of_a_request() -> bool:
    """Whether FastAPI validates a request: it made the innermost Pydantic call that runs now.

    Validators of a model are Python code between the two. A model that one of them makes of ints
    has a Pydantic call of its own, and is not part of the request.
    """
    if _REQUESTS not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads source files
    while frame is not None and _module(frame) not in _ENTRANCES:
        frame = frame.f_back
    if frame is None or _module(frame) != "pydantic.type_adapter":
        return False
    frame = frame.f_back
    while frame is not None and _module(frame).startswith("fastapi."):
        if _module(frame) == _REQUESTS:
            return True
        frame = frame.f_back
    return False


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
