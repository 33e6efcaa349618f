"""The JSON Schemas of requests and replies, for the OpenAPI document.

A member has the same type in every reply. IDs and field values are strings, since they may exceed
2**53; counts, bits and process numbers are numbers.
"""

from typing import Any

from frazil.reading.proposals import NODES_MOST, RATE_LEAST_HZ, RATE_MOST_HZ, YEAR_MOST
from frazil.service.alarms import SHOWN
from frazil.service.inspection import TEXT_MOST
from frazil.service.overview import LEVELS

__all__ = ["FLAG", "NAMES", "SCHEMAS", "TEXT", "a_list", "an_object", "ref"]


def an_object(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object whose members are all required."""
    return {"type": "object", "required": list(properties), "properties": properties}


def a_list(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an array of such objects."""
    return {"type": "array", "items": an_object(**properties)}


def _request(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a request with one required member and no unknown ones."""
    schema = an_object(**properties)
    return {**schema, "required": [required], "additionalProperties": False}


def _all_required(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object of a request without unknown members."""
    return {**an_object(**properties), "additionalProperties": False}


def ref(name: str) -> dict[str, Any]:
    """Return a reference to one of the schemas below."""
    return {"$ref": f"#/components/schemas/{name}"}


TEXT = {"type": "string"}
_OR_NONE = {"type": ["string", "null"]}
_WHOLE = {"type": "integer"}
_NUMBER_OR_NONE = {"type": ["number", "null"]}
_WHOLE_OR_NONE = {"type": ["integer", "null"]}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_COUNTS = {"type": "array", "items": {"type": "integer"}}
_LEVEL = {"enum": list(LEVELS)}
FLAG = {"type": "boolean"}
NAMES = {"namespace": TEXT, "scheme": TEXT}

_PLAN: dict[str, Any] = {
    **dict.fromkeys(("scheme", "layout", "fingerprint", "axis", "highest", "encoding"), TEXT),
    **dict.fromkeys(("bits", "nodes", "ids_per_node"), _WHOLE),
    **dict.fromkeys(("javascript_safe", "bigint_safe", "sorted_by_time"), FLAG),
    "exhausted": _OR_NONE,
    **dict.fromkeys(
        ("lasts_s", "left_s", "years", "years_left", "ids_per_second", "ids_per_second_in_all"),
        _NUMBER_OR_NONE,
    ),
    "characters": {"type": "object", "additionalProperties": {"type": "integer"}},
    "unsorted": _OR_NONE,
    "tick": _OR_NONE,
    "epoch": _OR_NONE,
    "pieces": a_list(
        name=TEXT,
        label=TEXT,
        role=TEXT,
        bits=_WHOLE,
        low=_WHOLE,
        reversed=FLAG,
        value=_OR_NONE,
    ),
}

_FACTS: dict[str, Any] = {
    **dict.fromkeys(("scheme", "id", "number"), TEXT),
    **dict.fromkeys(("moment", "node"), _OR_NONE),
    "age_s": _NUMBER_OR_NONE,
    "fields": a_list(name=TEXT, role=TEXT, value=TEXT, limit=TEXT, hex=_OR_NONE),
    "spans": a_list(name=TEXT, role=TEXT, digits=TEXT),
    "foreign": _TEXTS,
    "doubt": {**_OR_NONE, "description": "Why it is probably not an ID of this scheme."},
    "texts": {"type": "object", "additionalProperties": TEXT},
}

_FOUND: dict[str, Any] = {
    **_FACTS,
    **dict.fromkeys(("text", "written", "layout"), TEXT),
    **dict.fromkeys(("shuffled", "guessed"), FLAG),
    **dict.fromkeys(("said", "unsorted", "note"), _OR_NONE),
    **dict.fromkeys(("reasons", "others"), _TEXTS),
    "neighbours": a_list(step=_WHOLE, id=TEXT, moment=_OR_NONE),
    "stretches": a_list(
        **dict.fromkeys(("length", "from", "to"), TEXT),
        at={"type": "number"},
        first=_OR_NONE,
        last=_OR_NONE,
    ),
}

_FLEET: dict[str, Any] = {
    **dict.fromkeys(("members", "hosts", "rate_hz", "unknown", "nodes"), _WHOLE),
    "capacity_hz": _NUMBER_OR_NONE,
}

_CLAIMS: dict[str, Any] = {
    "axis": TEXT,
    "nodes": _WHOLE,
    **dict.fromkeys(("now", "now_value"), _OR_NONE),
    "fleet": {
        **an_object(**_FLEET),
        "description": "All claims that are held. unknown: claims whose rate is not known yet.",
    },
    "counts": an_object(held=_WHOLE, idle=_WHOLE, free=_WHOLE),
    "away": {"type": "integer", "description": "Parts of the registry that did not answer."},
    "slots": a_list(
        node=TEXT,
        constants={"type": "object", "additionalProperties": TEXT},
        state={"enum": ["held", "idle", "free"]},
        **dict.fromkeys(("host", "since"), _OR_NONE),
        **dict.fromkeys(("process", "rate_hz"), _WHOLE_OR_NONE),
        **dict.fromkeys(("start", "until", "start_value", "until_value"), TEXT),
    ),
}

_STATE: dict[str, Any] = {
    **dict.fromkeys(("lead_s", "claim_left_s", "exhausted_in_s"), _NUMBER_OR_NONE),
    "trouble_s": {"type": "number"},
}

_STATUS: dict[str, Any] = {
    "host": TEXT,
    "process": _WHOLE,
    "ready": FLAG,
    "why": _OR_NONE,
    **dict.fromkeys(("issued", "waits", "failures"), _WHOLE),
    **_STATE,
}

_OVERVIEW: dict[str, Any] = {
    **dict.fromkeys(("as_of", "version", "host", "started"), TEXT),
    "part_s": {**_WHOLE, "description": "The length of a part of each history, in seconds."},
    "http_errors": _COUNTS,
    "overview": a_list(
        **NAMES,
        level=_LEVEL,
        alarms=a_list(
            **dict.fromkeys(("why", "page"), TEXT),
            level=_LEVEL,
            since=_OR_NONE,
            of_workers=_COUNTS,
        ),
        workers=a_list(
            reported={**TEXT, "description": "When the worker wrote this."},
            silent={**FLAG, "description": "It does not report any more."},
            last_error=TEXT,
            **dict.fromkeys(("last_error_at",), _OR_NONE),
            **dict.fromkeys(
                ("worker", "process", "issued", "waits", "failures", "renew_failures"), _WHOLE
            ),
            clock_offset_s=_NUMBER_OR_NONE,
            **_STATE,
        ),
        claims={
            **an_object(read=TEXT, fresh=FLAG, **_FLEET),
            "type": ["object", "null"],
            "description": "As last read from the registry; null before.",
        },
        **{f"{what}_parts": _COUNTS for what in SHOWN},
    ),
    "replies": a_list(door=TEXT, status=_WHOLE, count=_WHOLE),
    "tokens": a_list(
        name=TEXT,
        **dict.fromkeys(("token_namespaces", "scopes"), _TEXTS),
        expires=_OR_NONE,
        **dict.fromkeys(("ids_per_minute", "left"), _WHOLE_OR_NONE),
        expires_in_s=_NUMBER_OR_NONE,
    ),
}

_PROBLEM: dict[str, Any] = an_object(type=TEXT, title=TEXT, status=_WHOLE, detail=TEXT)
# Optional: the subject of an error.
_PROBLEM["properties"] |= {**NAMES, "field": TEXT, "limit": TEXT, "position": _WHOLE}
# Of a token that lacks a scope or a namespace.
_PROBLEM["properties"] |= {"scope_needed": TEXT, "namespace_needed": TEXT, "token_has": _TEXTS}

SCHEMAS: dict[str, Any] = {
    "Problem": _PROBLEM,
    "Inspection": an_object(namespace=TEXT, **_FACTS),
    "Text": _request(
        "text",
        text={
            **TEXT,
            "minLength": 1,
            "maxLength": TEXT_MOST,
            "examples": ["GET /orders/1375354384404488193 200"],
        },
        scheme={**TEXT, "description": "The only scheme to try."},
    ),
    "Findings": an_object(**NAMES, found=a_list(**_FOUND)),
    "Claims": an_object(**NAMES, **_CLAIMS),
    "Status": an_object(**NAMES, **_STATUS),
    "Overview": an_object(**_OVERVIEW),
    "Window": an_object(
        **NAMES,
        **{"from": TEXT, "to": TEXT},
        **dict.fromkeys(("first", "last", "first_number", "last_number"), _OR_NONE),
    ),
    "Question": _request(
        "layout",
        layout={
            **TEXT,
            "minLength": 1,
            "maxLength": 2000,
            "examples": ["tsid", "time:42 node:10 sequence:12 @1ms since 2025-01-01T00:00:00Z"],
        },
        epoch=_OR_NONE,
        bits=_WHOLE_OR_NONE,
    ),
    "Plan": an_object(**_PLAN),
    "NeedQuestion": _request(
        "need",
        need=_all_required(
            nodes={"type": "integer", "minimum": 1, "maximum": NODES_MOST},
            rate_hz={
                "type": "number",
                "minimum": RATE_LEAST_HZ,
                "maximum": RATE_MOST_HZ,
                "description": "IDs per second of each node.",
            },
            year={
                "type": "integer",
                "maximum": YEAR_MOST,
                "description": "The last year, at least the current one.",
            },
        ),
    ),
    "Proposals": an_object(proposals={"type": "array", "items": ref("Plan")}),
}
"""The schemas by name, for ``ref``."""
