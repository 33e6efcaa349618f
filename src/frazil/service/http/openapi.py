"""What the HTTP door answers, as an OpenAPI 3.1 document.

Written by hand as data: the routes are few, and a document that is made from type hints says
what the code happens to accept instead of what is promised. Tests hold it against the routes and
against what they answer. Its links say which answer has what another question needs: the list of
namespaces has those, and a new ID is there to be inspected.
"""

from typing import Any

from frazil import __version__
from frazil.schemes.alphabet import DIGITS
from frazil.service.http.json_schemas import FLAG, NAMES, SHAPES, TEXT, an_object, ref
from frazil.service.namespace import MOST

__all__ = ["DOCUMENT", "document"]


_ASKING = ("issueOne", "issueMany", "window", "claims", "status")
"""Operations that need a namespace, and nothing else that is in another answer."""


def _json(schema: dict[str, Any], words: str, **more: Any) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}, **more}


def _link(operation: str, **parameters: str) -> dict[str, Any]:
    """That these members of an answer are parameters of another operation."""
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


_NS = _parameter("ns", "path", {"type": "string"}, "The namespace.")
_AS_NUMBER = _parameter(
    "number",
    "query",
    {"enum": ["0", "1"]},
    "1: numbers in JSON instead of strings, where every ID of the scheme fits 53 bits.",
)
_ID = {"type": ["string", "integer"], "description": "The scheme's text; a number if asked for."}
_MOMENT = {"type": "string", "examples": ["2026-01-01", "2026-01-01T12:00:00Z"]}
_OPEN: dict[str, Any] = {"security": []}
_READY: dict[str, Any] = an_object(ready=FLAG)
_READY["properties"]["namespaces"] = {
    "type": "object",
    "description": "Why each is unready, or 'ready'; for tokens of scope admin.",
    "additionalProperties": TEXT,
}


def _ids(one: dict[str, Any], words: str, member: str) -> dict[str, Any]:
    return {
        "description": words,
        "headers": {
            "Frazil-Namespace": {"schema": TEXT, "description": "The namespace."},
            "Frazil-Scheme": {"schema": TEXT, "description": "The scheme."},
            "Frazil-Fingerprint": {"schema": TEXT, "description": "Of its layout and shuffle."},
            "Frazil-Nonce": {"schema": TEXT, "description": "The request's, of many, if any."},
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
        "links": {"inspect": _link("inspect", ns="namespace", id=member)},
    }


_PATHS = {
    "/v1/{ns}/id": {
        "get": _operation(
            "issueOne",
            "A new ID.",
            _ids(an_object(**NAMES, id=_ID), "The ID.", "id"),
            _NS,
            _AS_NUMBER,
        )
    },
    "/v1/{ns}/ids": {
        "post": _operation(
            "issueMany",
            "Many new IDs, in order. A reply without its end was broken off.",
            _ids(an_object(**NAMES, ids={"type": "array", "items": _ID}), "The IDs.", "ids/0"),
            _NS,
            _parameter(
                "n",
                "query",
                {"type": "integer", "minimum": 1, "maximum": MOST},
                "How many.",
                required=True,
            ),
            _parameter(
                "Frazil-Nonce",
                "header",
                {"type": "string", "pattern": "^[!-~]{0,64}$"},
                "Printable ASCII. The reply names it, so that one that comes twice is known.",
            ),
            _AS_NUMBER,
        )
    },
    "/v1/{ns}/inspect/{id}": {
        "get": _operation(
            "inspect",
            "What is in an ID.",
            _json(ref("Inspection"), "Its fields, its moment, its bits."),
            _NS,
            _parameter("id", "path", TEXT, "The text of an ID."),
            _parameter(
                "encoding", "query", {"enum": list(DIGITS)}, "If not written as the scheme does."
            ),
        )
    },
    "/v1/{ns}/window": {
        "get": _operation(
            "window",
            "The IDs of a stretch of time, where those are one range.",
            _json(ref("Window"), "The first and the last ID; null where there is none."),
            _NS,
            _parameter("from", "query", _MOMENT, "A moment, ISO 8601; inside.", required=True),
            _parameter("to", "query", _MOMENT, "A moment, ISO 8601; outside.", required=True),
        )
    },
    "/v1/{ns}/find": {
        "post": _operation(
            "find",
            "The IDs in a text, with what stands around them.",
            _json(ref("Findings"), "One or more; a problem says why there is none."),
            _NS,
            requestBody={
                "required": True,
                "content": {"application/json": {"schema": ref("Text")}},
            },
        )
    },
    "/v1/{ns}/claims": {
        "get": _operation(
            "claims",
            "Who holds which slot, by the registry; needs scope admin.",
            _json(ref("Claims"), "The slots that somebody holds or held."),
            _NS,
        )
    },
    "/v1/{ns}/status": {
        "get": _operation(
            "status",
            "How a namespace stands in the process that answers; needs scope admin.",
            _json(ref("Status"), "Counts since it started, and how it stands now."),
            _NS,
        )
    },
    "/v1/layouts": {
        "get": _operation(
            "layouts",
            "The schemes that have names, and the namespaces that are served.",
            _json(
                an_object(
                    namespaces={"type": "array", "items": an_object(**NAMES, layout=TEXT)},
                    layouts={"type": "array", "items": ref("Plan")},
                ),
                "All of them.",
                links={name: _link(name, ns="namespaces/0/namespace") for name in _ASKING},
            ),
        )
    },
    "/v1/plan": {
        "post": _operation(
            "plan",
            "How long a layout lasts, and how much it carries.",
            _json(ref("Plan"), "The plan."),
            requestBody={
                "required": True,
                "content": {"application/json": {"schema": ref("Question")}},
            },
        )
    },
    "/openapi.json": {
        "get": _operation(
            "openapi", "This document.", _json({"type": "object"}, "OpenAPI 3.1."), **_OPEN
        )
    },
    "/livez": {
        "get": _operation("live", "That it runs.", _json(an_object(live=FLAG), "It does."), **_OPEN)
    },
    "/readyz": {
        "get": {
            "operationId": "ready",
            "summary": "Whether there will still be IDs in a moment.",
            "security": [],
            "responses": {
                "200": _json(_READY, "In every namespace."),
                "503": _json(_READY, "Not in every namespace."),
                "default": {"$ref": "#/components/responses/Problem"},
            },
        }
    },
    "/metrics": {
        "get": _operation(
            "metrics",
            "What Prometheus reads; needs scope admin.",
            {"description": "Text format.", "content": {"text/plain": {"schema": TEXT}}},
        )
    },
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
                "content": {"application/problem+json": {"schema": ref("Problem")}},
            }
        },
        "schemas": SHAPES,
    },
}
"""The document of a service without tokens."""


def document(*, tokens: bool) -> dict[str, Any]:
    """The document, as ``GET /openapi.json`` gives it. tokens: whether a service asks for them."""
    return {**DOCUMENT, "security": [{"token": []}]} if tokens else DOCUMENT
