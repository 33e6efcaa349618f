"""The OpenAPI 3.1 document of the HTTP API.

It is written by hand: there are few routes, and a document generated from type hints describes what
the code happens to accept, not what is promised. Tests compare it with the routes and with their
replies. Its links say which reply contains the parameters of another operation: the namespaces are
in the list of layouts, and a new ID can be inspected.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from frazil import __version__
from frazil.schemes.alphabet import ENCODINGS
from frazil.service.http.json_schemas import FLAG, NAMES, SCHEMAS, TEXT, an_object, ref
from frazil.service.namespace import BATCH_MOST

_ASKING = ("issueOne", "issueMany", "window", "claims", "status")
"""Operations whose only parameter from another reply is the namespace."""


def _json(schema: dict[str, Any], words: str, **more: Any) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}, **more}


def _link(operation: str, **parameters: str) -> dict[str, Any]:
    """Return a link that uses members of a reply as parameters of another operation."""
    found = {name: f"$response.body#/{member}" for name, member in parameters.items()}
    return {"operationId": operation, "parameters": found}


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


def _operation(
    name: str,
    words: str,
    good: dict[str, Any],
    *parameters: dict[str, Any],
    method: str = "get",
    also: Mapping[str, Any] = MappingProxyType({}),
    **more: Any,
) -> dict[str, Any]:
    """Return the only operation of a path. also: replies by status; all others are problems."""
    replies = {"200": good, **also, "default": {"$ref": "#/components/responses/Problem"}}
    operation = {"operationId": name, "summary": words, "parameters": list(parameters)}
    return {method: {**operation, "responses": replies, **more}}


def _body(*schemas: str) -> dict[str, Any]:
    schema = ref(schemas[0]) if len(schemas) == 1 else {"oneOf": [ref(name) for name in schemas]}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


_NS = _parameter("ns", "path", {"type": "string"}, "The namespace.")
_AS_NUMBER = _parameter(
    "number",
    "query",
    {"enum": ["0", "1"]},
    "1: JSON numbers instead of strings, if every ID of the scheme fits in 53 bits.",
)
_ID = {"type": ["string", "integer"], "description": "The ID as a string; a number with ?number=1."}
_COUNT = {"type": "integer", "minimum": 1, "maximum": BATCH_MOST}
_NONCE = {"type": "string", "pattern": "^[!-~]{0,64}$", "description": "Printable ASCII."}
_MOMENT = {"type": "string", "examples": ["2026-01-01", "2026-01-01T12:00:00Z"]}
_OPEN: dict[str, Any] = {"security": []}
_READY: dict[str, Any] = an_object(ready=FLAG)
_READY["properties"]["namespaces"] = {
    "type": "object",
    "description": "For each, 'ready' or the reason; requires scope admin.",
    "additionalProperties": TEXT,
}


def _ids(one: dict[str, Any], words: str, member: str) -> dict[str, Any]:
    return {
        "description": words,
        "headers": {
            "Frazil-Namespace": {"schema": TEXT, "description": "The namespace."},
            "Frazil-Scheme": {"schema": TEXT, "description": "The scheme."},
            "Frazil-Fingerprint": {"schema": TEXT, "description": "Of the layout and shuffle."},
            "Frazil-Nonce": {"schema": TEXT, "description": "The nonce of the request, if any."},
        },
        "content": {
            "application/json": {"schema": one},
            "text/plain": {"schema": {"type": "string", "description": "One ID per line."}},
            "application/octet-stream": {
                "schema": {
                    "type": "string",
                    "format": "binary",
                    "description": "Each ID in as many whole bytes as the scheme has bits.",
                }
            },
        },
        "links": {"inspect": _link("inspect", ns="namespace", id=member)},
    }


_PATHS = {
    "/v1/{ns}/id": _operation(
        "issueOne",
        "Create an ID.",
        _ids(an_object(**NAMES, id=_ID), "The ID.", "id"),
        _NS,
        _AS_NUMBER,
    ),
    "/v1/{ns}/ids": _operation(
        "issueMany",
        "Create many IDs, in order. After an error, the reply is incomplete.",
        _ids(an_object(**NAMES, ids={"type": "array", "items": _ID}), "The IDs.", "ids/0"),
        _NS,
        _parameter("n", "query", _COUNT, "The number of IDs.", required=True),
        _parameter("Frazil-Nonce", "header", _NONCE, "It comes back, to tell replies apart."),
        _AS_NUMBER,
        method="post",
    ),
    "/v1/{ns}/inspect/{id}": _operation(
        "inspect",
        "Decode an ID.",
        _json(ref("Inspection"), "The fields, time and bits of the ID."),
        _NS,
        _parameter("id", "path", TEXT, "The ID as text."),
        _parameter("encoding", "query", {"enum": list(ENCODINGS)}, "If not that of the scheme."),
    ),
    "/v1/{ns}/window": _operation(
        "window",
        "Get the range of IDs of a time window.",
        _json(ref("Window"), "The first and the last ID; null if there is none."),
        _NS,
        _parameter("from", "query", _MOMENT, "The start, ISO 8601, inclusive.", required=True),
        _parameter("to", "query", _MOMENT, "The end, ISO 8601, exclusive.", required=True),
    ),
    "/v1/{ns}/find": _operation(
        "find",
        "Find the IDs in a text, with their neighbours.",
        _json(ref("Findings"), "One or more IDs; if there is none, the reply is a problem."),
        _NS,
        requestBody=_body("Text"),
        method="post",
    ),
    "/v1/{ns}/claims": _operation(
        "claims",
        "List the claims in the registry; requires scope admin.",
        _json(ref("Claims"), "The slots that are or were held."),
        _NS,
    ),
    "/v1/{ns}/status": _operation(
        "status",
        "Get the state of a namespace in this process; requires scope admin.",
        _json(ref("Status"), "Counts since the start, and current values."),
        _NS,
    ),
    "/v1/layouts": _operation(
        "layouts",
        "List the named schemes and the served namespaces.",
        _json(
            an_object(
                namespaces={"type": "array", "items": an_object(**NAMES, layout=TEXT)},
                layouts={"type": "array", "items": ref("Plan")},
            ),
            "Namespaces and schemes.",
            links={name: _link(name, ns="namespaces/0/namespace") for name in _ASKING},
        ),
    ),
    "/v1/plan": _operation(
        "plan",
        "Compute the lifetime and capacity of a layout, or propose layouts for a need.",
        _json({"oneOf": [ref("Plan"), ref("Proposals")]}, "The plan, or one for each proposal."),
        requestBody=_body("Question", "NeedQuestion"),
        method="post",
    ),
    "/v1/overview": _operation(
        "overview",
        "Get the state of all namespaces and workers; requires scope admin.",
        _json(ref("Overview"), "The namespaces, red first; counts since the start; tokens."),
    ),
    "/openapi.json": _operation(
        "openapi", "Get this document.", _json({"type": "object"}, "OpenAPI 3.1."), **_OPEN
    ),
    "/livez": _operation("live", "Liveness.", _json(an_object(live=FLAG), "It runs."), **_OPEN),
    "/readyz": _operation(
        "ready",
        "Check that all namespaces will have IDs.",
        _json(_READY, "All namespaces are ready."),
        also={"503": _json(_READY, "A namespace is not ready.")},
        **_OPEN,
    ),
    "/metrics": _operation(
        "metrics",
        "Get Prometheus metrics; requires scope admin.",
        {"description": "Prometheus text format.", "content": {"text/plain": {"schema": TEXT}}},
    ),
}

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "frazil",
        "version": __version__,
        "description": "Unique, compact, roughly time-ordered IDs. Every error is a problem "
        "(RFC 9457) whose detail says what is wrong and what to do next.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "security": [{"token": []}, {}],
    "paths": _PATHS,
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "responses": {
            "Problem": {
                "description": "An error.",
                "content": {"application/problem+json": {"schema": ref("Problem")}},
            }
        },
        "schemas": SCHEMAS,
    },
}
"""The document for a service without tokens."""


def document(*, tokens: bool) -> dict[str, Any]:
    """Return the document for ``GET /openapi.json``. tokens: whether tokens are required."""
    return {**DOCUMENT, "security": [{"token": []}]} if tokens else DOCUMENT
