"""What the HTTP door answers, as an OpenAPI 3.1 document.

Written by hand as data: the routes are few, and a document that is made from type hints says
what the code happens to accept instead of what is promised. A test holds it against the routes.
"""

from typing import Any

from frazil import __version__
from frazil.alphabet import DIGITS
from frazil.service.issuer import MOST
from frazil.service.views import TEXT_MOST

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


def _list(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


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
_WHOLE_OR_NONE = {"type": ["integer", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
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
    "/v1/{ns}/find": {
        "post": _operation(
            "find",
            "The IDs in a text, with what stands around them.",
            _json(_ref("Findings"), "One or more; a problem says why there is none."),
            _NS,
            requestBody={
                "required": True,
                "content": {"application/json": {"schema": _ref("Text")}},
            },
        )
    },
    "/v1/{ns}/claims": {
        "get": _operation(
            "claims",
            "Who holds which slot, by the registry; needs scope admin.",
            _json(_ref("Claims"), "The slots that somebody holds or held."),
            _NS,
        )
    },
    "/v1/{ns}/status": {
        "get": _operation(
            "status",
            "How a namespace stands in the process that answers; needs scope admin.",
            _json(_ref("Status"), "Counts since it started, and how it stands now."),
            _NS,
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
    "unsorted": _OR_NONE,
    "tick": _OR_NONE,
    "epoch": _OR_NONE,
    "pieces": _list(
        name=_TEXT,
        label=_TEXT,
        role=_TEXT,
        bits=_WHOLE,
        low=_WHOLE,
        reversed=_FLAG,
        value=_OR_NONE,
    ),
}

_FACTS: dict[str, Any] = {
    **dict.fromkeys(("scheme", "id", "number"), _TEXT),
    **dict.fromkeys(("moment", "node"), _OR_NONE),
    "age_s": _NUMBER_OR_NONE,
    "fields": _list(name=_TEXT, role=_TEXT, value=_TEXT, limit=_TEXT),
    "spans": _list(name=_TEXT, role=_TEXT, bits=_TEXT),
    "foreign": _TEXTS,
    "texts": {"type": "object", "additionalProperties": _TEXT},
}

_FOUND: dict[str, Any] = {
    **_FACTS,
    **dict.fromkeys(("text", "written", "layout"), _TEXT),
    **dict.fromkeys(("shuffled", "guessed"), _FLAG),
    **dict.fromkeys(("said", "doubt", "unsorted"), _OR_NONE),
    **dict.fromkeys(("reasons", "others"), _TEXTS),
    "neighbours": _list(step=_WHOLE, id=_TEXT, moment=_OR_NONE),
    "stretches": _list(
        **dict.fromkeys(("length", "from", "to"), _TEXT),
        at={"type": "number"},
        first=_OR_NONE,
        last=_OR_NONE,
    ),
}

_CLAIMS: dict[str, Any] = {
    "axis": _TEXT,
    "nodes": _WHOLE,
    **dict.fromkeys(("now", "now_value"), _OR_NONE),
    "counts": _object(held=_WHOLE, idle=_WHOLE, free=_WHOLE),
    "away": {"type": "integer", "description": "Stores of the registry that did not answer."},
    "slots": _list(
        node=_WHOLE,
        constants={"type": "object", "additionalProperties": _WHOLE},
        state={"enum": ["held", "idle", "free"]},
        **dict.fromkeys(("host", "since"), _OR_NONE),
        **dict.fromkeys(("process", "rate_hz"), _WHOLE_OR_NONE),
        **dict.fromkeys(("start", "until", "start_value", "until_value"), _TEXT),
    ),
}

_STATUS: dict[str, Any] = {
    **dict.fromkeys(("host", "process"), _TEXT),
    "ready": _FLAG,
    "why": _OR_NONE,
    **dict.fromkeys(("issued", "waits", "failures"), _WHOLE),
    **dict.fromkeys(("lead_s", "claim_left_s", "exhausted_in_s"), _NUMBER_OR_NONE),
    "trouble_s": {"type": "number"},
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
            "Inspection": _object(namespace=_TEXT, **_FACTS),
            "Text": {
                "type": "object",
                "required": ["text"],
                "additionalProperties": False,
                "properties": {
                    "text": {"type": "string", "minLength": 1, "maxLength": TEXT_MOST},
                    "scheme": {"type": "string", "description": "The one scheme in question."},
                },
            },
            "Findings": _object(**_NAMES, found=_list(**_FOUND)),
            "Claims": _object(**_NAMES, **_CLAIMS),
            "Status": _object(**_NAMES, **_STATUS),
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
