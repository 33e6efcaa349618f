"""The OpenAPI 3.1 document of the HTTP API.

It is written by hand: there are few routes, and a document generated from type hints describes what
the code happens to accept, not what is promised. Tests compare it with the routes and with their
replies. Its links say which reply contains the parameters of another operation: the namespaces are
in the list of layouts, and a new ID can be inspected.

A member has the same type in every reply. IDs and field values are strings, since they may exceed
2**53; counts, bits and process numbers are numbers.
"""

from typing import Any

from frazil import __version__
from frazil.reading.capacity import NODES_MOST, RATE_LEAST_HZ, RATE_MOST_HZ, YEAR_MOST
from frazil.schemes.alphabet import ENCODINGS
from frazil.service.alarms import SHOWN
from frazil.service.inspection import TEXT_MOST
from frazil.service.namespace import BATCH_MOST
from frazil.service.state import LEVELS


def an_object(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object whose members are all required."""
    return {"type": "object", "required": list(properties), "properties": properties}


def a_list(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an array of such objects."""
    return {"type": "array", "items": an_object(**properties)}


def _request(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request with some required members and no unknown ones."""
    schema = an_object(**properties)
    return {**schema, "required": list(required), "additionalProperties": False}


def _text(most: int, *examples: str) -> dict[str, Any]:
    return {**TEXT, "minLength": 1, "maxLength": most, "examples": list(examples)}


def _number(kind: str, least: float, most: float, words: str) -> dict[str, Any]:
    return {"type": kind, "minimum": least, "maximum": most, "description": words}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to one of the schemas below."""
    return {"$ref": f"#/components/schemas/{name}"}


TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
NAMES = {"namespace": TEXT, "scheme": TEXT}
_OR_NONE = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": TEXT}
_LEVEL = {"enum": list(LEVELS)}
_TYPES: dict[str, dict[str, Any]] = {
    "text": TEXT,
    "text_or_none": _OR_NONE,
    "texts": _TEXTS,
    "whole": {"type": "integer"},
    "whole_or_none": {"type": ["integer", "null"]},
    "wholes": {"type": "array", "items": {"type": "integer"}},
    "number": {"type": "number"},
    "number_or_none": {"type": ["number", "null"]},
    "flag": FLAG,
    "by_name": {"type": "object", "additionalProperties": TEXT},
    "counts_by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
}


def _typed(**names: str) -> dict[str, Any]:
    """Return members by type, each type with the names of its members."""
    return {name: _TYPES[kind] for kind, each in names.items() for name in each.split()}


_PLAN: dict[str, Any] = {
    **_typed(
        text="scheme layout fingerprint axis highest encoding",
        whole="bits nodes ids_per_node",
        flag="javascript_safe bigint_safe sorted_by_time",
        text_or_none="exhausted unsorted tick epoch",
        number_or_none="lasts_s left_s years years_left ids_per_second ids_per_second_in_all",
        counts_by_name="characters",
    ),
    "pieces": a_list(
        **_typed(text="name label role", whole="bits low", flag="reversed", text_or_none="value")
    ),
}

_FACTS: dict[str, Any] = {
    **_typed(
        text="scheme id number",
        text_or_none="moment node",
        number_or_none="age_s",
        texts="foreign",
        by_name="texts",
    ),
    "fields": a_list(**_typed(text="name role value limit", text_or_none="hex")),
    "spans": a_list(**_typed(text="name role digits")),
    "doubt": {**_OR_NONE, "description": "Why it is probably not an ID of this scheme."},
}

_FOUND: dict[str, Any] = {
    **_FACTS,
    **_typed(
        text="text written layout",
        flag="shuffled guessed",
        text_or_none="said unsorted note",
        texts="reasons others",
    ),
    "neighbours": a_list(**_typed(whole="step", text="id", text_or_none="moment")),
    "stretches": a_list(**_typed(text="length from to", number="at", text_or_none="first last")),
}

_FLEET = _typed(whole="members hosts rate_hz unknown nodes", number_or_none="capacity_hz")

_CLAIMS: dict[str, Any] = {
    **_typed(text="axis", whole="nodes", text_or_none="now now_value"),
    "fleet": {
        **an_object(**_FLEET),
        "description": "All claims that are held. unknown: claims whose rate is not known yet.",
    },
    "counts": an_object(**_typed(whole="held idle free")),
    "away": {"type": "integer", "description": "Parts of the registry that did not answer."},
    "slots": a_list(
        **_typed(
            text="node start until start_value until_value",
            by_name="constants",
            text_or_none="host since",
            whole_or_none="process rate_hz",
        ),
        state={"enum": ["held", "idle", "free"]},
    ),
}

_STATE = _typed(number_or_none="lead_s claim_left_s exhausted_in_s", number="trouble_s")

_STATUS: dict[str, Any] = {
    **_typed(text="host", whole="process issued waits failures", flag="ready", text_or_none="why"),
    **_STATE,
}

_OVERVIEW: dict[str, Any] = {
    **_typed(text="as_of version host started", wholes="http_errors"),
    "part_s": {
        "type": "integer",
        "description": "The length of a part of each history, in seconds.",
    },
    "overview": a_list(
        **NAMES,
        level=_LEVEL,
        alarms=a_list(
            **_typed(text="why page", text_or_none="since", wholes="of_workers"), level=_LEVEL
        ),
        workers=a_list(
            **_typed(
                text="last_error",
                text_or_none="last_error_at",
                whole="worker process issued waits failures renew_failures",
                number_or_none="clock_offset_s",
            ),
            **_STATE,
            reported={**TEXT, "description": "When the worker wrote this."},
            silent={**FLAG, "description": "It does not report any more."},
        ),
        claims={
            **an_object(read=TEXT, fresh=FLAG, **_FLEET),
            "type": ["object", "null"],
            "description": "As last read from the registry; null before.",
        },
        **_typed(wholes=" ".join(f"{what}_parts" for what in SHOWN)),
    ),
    "replies": a_list(**_typed(text="door", whole="status count")),
    "tokens": a_list(
        **_typed(
            text="name",
            texts="token_namespaces scopes",
            text_or_none="expires",
            whole_or_none="ids_per_minute left",
            number_or_none="expires_in_s",
        )
    ),
}

_PROBLEM: dict[str, Any] = an_object(**_typed(text="type title detail", whole="status"))
# Optional: the subject of an error, or what a token lacks.
_PROBLEM["properties"] |= _typed(
    text="namespace scheme field limit scope_needed namespace_needed",
    whole="position",
    texts="token_has",
)

SCHEMAS: dict[str, Any] = {
    "Problem": _PROBLEM,
    "Inspection": an_object(namespace=TEXT, **_FACTS),
    "Text": _request(
        "text",
        text=_text(TEXT_MOST, "GET /orders/1375354384404488193 200"),
        scheme={**TEXT, "description": "The only scheme to try."},
    ),
    "Findings": an_object(**NAMES, found=a_list(**_FOUND)),
    "Claims": an_object(**NAMES, **_CLAIMS),
    "Status": an_object(**NAMES, **_STATUS),
    "Overview": an_object(**_OVERVIEW),
    "Window": an_object(
        **_typed(
            text="namespace scheme from to", text_or_none="first last first_number last_number"
        )
    ),
    "Question": _request(
        "layout",
        layout=_text(2000, "tsid", "time:42 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z"),
        **_typed(text_or_none="epoch", whole_or_none="bits"),
    ),
    "Plan": an_object(**_PLAN),
    "NeedQuestion": _request(
        "need",
        need=_request(
            "nodes",
            "rate_hz",
            "year",
            nodes=_number("integer", 1, NODES_MOST, "How many may run at once."),
            rate_hz=_number("number", RATE_LEAST_HZ, RATE_MOST_HZ, "IDs per second of each."),
            year=_number("integer", 2000, YEAR_MOST, "The last year, at least the current one."),
        ),
    ),
    "Proposals": an_object(proposals={"type": "array", "items": ref("Plan")}),
    "Layouts": an_object(
        namespaces=a_list(**NAMES, layout=TEXT), layouts={"type": "array", "items": ref("Plan")}
    ),
}

# Operations whose only parameter from another reply is the namespace.
_ASKING = ("issueOne", "issueMany", "window", "claims", "status")


def _reply(schema: dict[str, Any], words: str, media_type: str = "application/json") -> Any:
    return {"description": words, "content": {media_type: {"schema": schema}}}


def _link(operation: str, **parameters: str) -> dict[str, Any]:
    """Return a link that uses members of a reply as parameters of another operation."""
    found = {name: f"$response.body#/{member}" for name, member in parameters.items()}
    return {"operationId": operation, "parameters": found}


def _parameter(
    name: str, schema: dict[str, Any], words: str, where: str = "query", *, required: bool = False
) -> Any:
    about = {"name": name, "in": where, "required": required or where == "path"}
    return {**about, "description": words, "schema": schema}


def _get(name: str, words: str, reply: Any, *parameters: Any, **more: Any) -> dict[str, Any]:
    """Return the operation of a path that is read. All replies but 200 are problems."""
    replies = {"200": reply, "default": {"$ref": "#/components/responses/Problem"}}
    operation = {"operationId": name, "summary": words, "parameters": list(parameters)}
    return {"get": {**operation, "responses": replies, **more}}


def _post(name: str, words: str, reply: Any, *parameters: Any, body: Any = None) -> dict[str, Any]:
    """Return the operation of a path that is written to. body: the schema of its requests."""
    content = {"required": True, "content": {"application/json": {"schema": body}}}
    more = {} if body is None else {"requestBody": content}
    return {"post": _get(name, words, reply, *parameters, **more)["get"]}


_NS = _parameter("ns", TEXT, "The namespace.", "path")
_01 = {"enum": ["0", "1"]}
_ASKED = (
    _parameter("number", _01, "1: JSON numbers, if every ID of the scheme fits 53 bits."),
    _parameter("after", TEXT, "Up to 100 IDs that the next ones exceed, with commas."),
    _parameter("trusted", _01, "0: ignore what is not an ID; the default is an error."),
)
_ID = {"type": ["string", "integer"], "description": "The ID as a string; a number with ?number=1."}
_COUNT = {"type": "integer", "minimum": 1, "maximum": BATCH_MOST}
_NONCE = {"type": "string", "pattern": "^[!-~]{0,64}$", "description": "Printable ASCII."}
_MOMENT = {"type": "string", "examples": ["2026-01-01", "2026-01-01T12:00:00Z"]}
_LINES = {"type": "string", "description": "One ID per line."}
_BYTES = {
    "type": "string",
    "format": "binary",
    "description": "Each ID in as many whole bytes as the scheme has bits.",
}
_HEADERS = {
    "Frazil-Namespace": "The namespace.",
    "Frazil-Scheme": "The scheme.",
    "Frazil-Fingerprint": "Of the layout and shuffle.",
    "Frazil-Nonce": "The nonce of the request, if any.",
}
_OPEN: dict[str, Any] = {"security": []}
_READY: dict[str, Any] = an_object(ready=FLAG)
_READY["properties"]["namespaces"] = {
    **_TYPES["by_name"],
    "description": "For each, 'ready' or the reason; requires scope admin.",
}


def _ids(member: str, first: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    """Return a reply with IDs. first: where in ``member`` the first one is."""
    reply = _reply(an_object(**NAMES, **{member: schema}), words)
    others = {"text/plain": _LINES, "application/octet-stream": _BYTES}
    reply["content"] |= {media_type: {"schema": other} for media_type, other in others.items()}
    headers = {name: {"schema": TEXT, "description": about} for name, about in _HEADERS.items()}
    links = {"inspect": _link("inspect", ns="namespace", id=f"{member}{first}")}
    return {**reply, "headers": headers, "links": links}


_PATHS = {
    "/v1/{ns}/id": _get("issueOne", "Create an ID.", _ids("id", "", _ID, "The ID."), _NS, *_ASKED),
    "/v1/{ns}/ids": _post(
        "issueMany",
        "Create many IDs, in order. After an error, the reply is incomplete.",
        _ids("ids", "/0", {"type": "array", "items": _ID}, "The IDs."),
        _NS,
        _parameter("n", _COUNT, "The number of IDs.", required=True),
        _parameter("Frazil-Nonce", _NONCE, "It comes back, to tell replies apart.", "header"),
        *_ASKED,
    ),
    "/v1/{ns}/inspect/{id}": _get(
        "inspect",
        "Decode an ID.",
        _reply(ref("Inspection"), "The fields, time and bits of the ID."),
        _NS,
        _parameter("id", TEXT, "The ID as text.", "path"),
        _parameter("encoding", {"enum": list(ENCODINGS)}, "If not that of the scheme."),
    ),
    "/v1/{ns}/window": _get(
        "window",
        "Get the range of IDs of a time window.",
        _reply(ref("Window"), "The first and the last ID; null if there is none."),
        _NS,
        _parameter("from", _MOMENT, "The start, ISO 8601, inclusive.", required=True),
        _parameter("to", _MOMENT, "The end, ISO 8601, exclusive.", required=True),
    ),
    "/v1/{ns}/find": _post(
        "find",
        "Find the IDs in a text, with their neighbours.",
        _reply(ref("Findings"), "One or more IDs; if there is none, the reply is a problem."),
        _NS,
        body=ref("Text"),
    ),
    "/v1/{ns}/claims": _get(
        "claims",
        "List the claims in the registry; requires scope admin.",
        _reply(ref("Claims"), "The slots that are or were held."),
        _NS,
    ),
    "/v1/{ns}/status": _get(
        "status",
        "Get the state of a namespace in this process; requires scope admin.",
        _reply(ref("Status"), "Counts since the start, and current values."),
        _NS,
    ),
    "/v1/layouts": _get(
        "layouts",
        "List the named schemes and the served namespaces.",
        _reply(ref("Layouts"), "Namespaces and schemes.")
        | {"links": {name: _link(name, ns="namespaces/0/namespace") for name in _ASKING}},
    ),
    "/v1/plan": _post(
        "plan",
        "Compute the lifetime and capacity of a layout, or propose layouts for a need.",
        _reply({"oneOf": [ref("Plan"), ref("Proposals")]}, "The plan, or one for each proposal."),
        body={"oneOf": [ref("Question"), ref("NeedQuestion")]},
    ),
    "/v1/overview": _get(
        "overview",
        "Get the state of all namespaces and workers; requires scope admin.",
        _reply(ref("Overview"), "The namespaces, red first; counts since the start; tokens."),
    ),
    "/openapi.json": _get(
        "openapi", "Get this document.", _reply({"type": "object"}, "OpenAPI 3.1."), **_OPEN
    ),
    "/livez": _get("live", "Liveness.", _reply(an_object(live=FLAG), "It runs."), **_OPEN),
    "/readyz": _get(
        "ready",
        "Check that all namespaces will have IDs.",
        _reply(_READY, "All namespaces are ready."),
        **_OPEN,
    ),
    "/metrics": _get(
        "metrics",
        "Get Prometheus metrics; requires scope admin.",
        _reply(TEXT, "Prometheus text format.", "text/plain"),
    ),
}
_PATHS["/readyz"]["get"]["responses"]["503"] = _reply(_READY, "A namespace is not ready.")

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
        "responses": {"Problem": _reply(ref("Problem"), "An error.", "application/problem+json")},
        "schemas": SCHEMAS,
    },
}
"""The document for a service without tokens."""


def document(*, tokens: bool) -> dict[str, Any]:
    """Return the document for ``GET /openapi.json``. tokens: whether tokens are required."""
    return {**DOCUMENT, "security": [{"token": []}]} if tokens else DOCUMENT
