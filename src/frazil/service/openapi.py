"""What the HTTP door answers, as an OpenAPI 3.1 document.

Written by hand as data: the routes are few, and a document that is made from type hints says
what the code happens to accept instead of what is promised. A test holds it against the routes.
"""

from typing import Any

from frazil import __version__
from frazil.alphabet import DIGITS
from frazil.service.issuer import MOST

__all__ = ["DOCUMENT"]


def _json(schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _parameter(
    name: str, where: str, schema: dict[str, Any], words: str, *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "required": required or where == "path",
        "description": words,
        "schema": schema,
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _operation(
    name: str, words: str, good: dict[str, Any], *parameters: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """An operation; whatever else it answers is a problem."""
    return {
        "operationId": name,
        "summary": words,
        "parameters": list(parameters),
        "responses": {"200": good, "default": {"$ref": "#/components/responses/Problem"}},
        **more,
    }


_TEXT = {"type": "string"}
_OR_NONE = {"type": ["string", "null"]}
_WHOLE = {"type": "integer"}
_NUMBER_OR_NONE = {"type": ["number", "null"]}
_FLAG = {"type": "boolean"}
_NAMES = {"namespace": _TEXT, "scheme": _TEXT}
_NS = _parameter("ns", "path", {"type": "string"}, "The namespace.")
_AS_NUMBER = _parameter(
    "number",
    "query",
    {"enum": ["0", "1"]},
    "1: numbers in JSON instead of strings, where every ID of the scheme fits 53 bits.",
)
_ID = {"type": ["string", "integer"], "description": "The scheme's text; a number if asked for."}
_PIECE = _object(name=_TEXT, role=_TEXT, bits={"type": "integer"})
_OPEN: dict[str, Any] = {"security": []}


def _ids(one: dict[str, Any], words: str) -> dict[str, Any]:
    return {
        "description": words,
        "headers": {
            "Frazil-Namespace": {"schema": _TEXT, "description": "The namespace."},
            "Frazil-Scheme": {"schema": _TEXT, "description": "The scheme."},
            "Frazil-Fingerprint": {"schema": _TEXT, "description": "Of its layout and shuffle."},
        },
        "content": {
            "application/json": {"schema": one},
            "text/plain": {"schema": {"type": "string", "description": "One ID a line."}},
            "application/octet-stream": {
                "schema": {
                    "type": "string",
                    "format": "binary",
                    "description": "Each ID in as many whole bytes as the scheme has bits.",
                }
            },
        },
    }


_PATHS = {
    "/v1/{ns}/id": {
        "get": _operation(
            "issueOne",
            "A new ID.",
            _ids(_object(**_NAMES, id=_ID), "The ID."),
            _NS,
            _AS_NUMBER,
        )
    },
    "/v1/{ns}/ids": {
        "post": _operation(
            "issueMany",
            "Many new IDs, in order. A reply without its end was broken off.",
            _ids(_object(**_NAMES, ids={"type": "array", "items": _ID}), "The IDs."),
            _NS,
            _parameter(
                "n",
                "query",
                {"type": "integer", "minimum": 1, "maximum": MOST},
                "How many.",
                required=True,
            ),
            _AS_NUMBER,
        )
    },
    "/v1/{ns}/inspect/{id}": {
        "get": _operation(
            "inspect",
            "What is in an ID.",
            _json(_ref("Inspection"), "Its fields, its moment, its bits."),
            _NS,
            _parameter("id", "path", _TEXT, "The text of an ID."),
            _parameter(
                "encoding", "query", {"enum": list(DIGITS)}, "If not written as the scheme does."
            ),
        )
    },
    "/v1/{ns}/window": {
        "get": _operation(
            "window",
            "The IDs of a stretch of time, where those are one range.",
            _json(_ref("Window"), "The first and the last ID; null where there is none."),
            _NS,
            _parameter("from", "query", _TEXT, "A moment, ISO 8601; inside.", required=True),
            _parameter("to", "query", _TEXT, "A moment, ISO 8601; outside.", required=True),
        )
    },
    "/v1/layouts": {
        "get": _operation(
            "layouts",
            "The schemes that have names, and the namespaces that are served.",
            _json(
                _object(
                    namespaces={"type": "array", "items": _object(**_NAMES, layout=_TEXT)},
                    layouts={"type": "array", "items": _ref("Plan")},
                ),
                "All of them.",
            ),
        )
    },
    "/v1/plan": {
        "post": _operation(
            "plan",
            "How long a layout lasts, and how much it carries.",
            _json(_ref("Plan"), "The plan."),
            requestBody={
                "required": True,
                "content": {"application/json": {"schema": _ref("Question")}},
            },
        )
    },
    "/openapi.json": {
        "get": _operation(
            "openapi", "This document.", _json({"type": "object"}, "OpenAPI 3.1."), **_OPEN
        )
    },
    "/livez": {
        "get": _operation("live", "That it runs.", _json(_object(live=_FLAG), "It does."), **_OPEN)
    },
    "/readyz": {
        "get": {
            "operationId": "ready",
            "summary": "Whether there will still be IDs in a moment.",
            "security": [],
            "responses": {
                "200": _json(_object(ready=_FLAG), "In every namespace."),
                "503": _json(_object(ready=_FLAG), "Not in every namespace."),
                "default": {"$ref": "#/components/responses/Problem"},
            },
        }
    },
    "/metrics": {
        "get": _operation(
            "metrics",
            "What Prometheus reads; needs scope admin.",
            {"description": "Text format.", "content": {"text/plain": {"schema": _TEXT}}},
        )
    },
}

_PLAN: dict[str, Any] = {
    **dict.fromkeys(("scheme", "layout", "fingerprint", "axis", "highest", "encoding"), _TEXT),
    **dict.fromkeys(("bits", "nodes", "ids_per_node"), _WHOLE),
    **dict.fromkeys(("javascript_safe", "bigint_safe", "sorted_by_time"), _FLAG),
    "exhausted": _OR_NONE,
    **dict.fromkeys(
        ("years", "years_left", "ids_per_second", "ids_per_second_in_all"),
        _NUMBER_OR_NONE,
    ),
    "characters": {"type": "object", "additionalProperties": {"type": "integer"}},
    "pieces": {"type": "array", "items": _PIECE},
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "frazil",
        "version": __version__,
        "description": "Unique, compact, roughly time-ordered IDs. Every error is a problem "
        "(RFC 9457) whose detail ends with the next step.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "security": [{"token": []}, {}],
    "paths": _PATHS,
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "responses": {
            "Problem": {
                "description": "Why there is no other answer.",
                "content": {"application/problem+json": {"schema": _ref("Problem")}},
            }
        },
        "schemas": {
            "Problem": _object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
            "Inspection": _object(
                **_NAMES,
                id=_TEXT,
                number=_TEXT,
                moment=_OR_NONE,
                age_s={"type": ["number", "null"]},
                fields={"type": "array", "items": _object(name=_TEXT, role=_TEXT, value=_TEXT)},
                spans={"type": "array", "items": _object(name=_TEXT, role=_TEXT, bits=_TEXT)},
                foreign={"type": "array", "items": _TEXT},
                texts={"type": "object", "additionalProperties": _TEXT},
            ),
            "Window": _object(
                **_NAMES,
                **{"from": _TEXT, "to": _TEXT},
                first=_OR_NONE,
                last=_OR_NONE,
                first_number=_OR_NONE,
                last_number=_OR_NONE,
            ),
            "Question": {
                "type": "object",
                "required": ["layout"],
                "additionalProperties": False,
                "properties": {
                    "layout": {"type": "string", "minLength": 1, "maxLength": 2000},
                    "epoch": _OR_NONE,
                    "bits": {"type": ["integer", "null"]},
                },
            },
            "Plan": _object(**_PLAN),
        },
    },
}
"""The document, as ``GET /openapi.json`` gives it."""
