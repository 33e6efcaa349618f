"""The JSON Schemas of requests and replies, for the OpenAPI document.

A member has the same type in every reply. IDs and field values are strings, since they may exceed
2**53; counts, bits and process numbers are numbers.
"""

from typing import Any

from frazil.reading.proposals import NODES_MOST, RATE_LEAST_HZ, RATE_MOST_HZ, YEAR_MOST
from frazil.service.alarms import SHOWN
from frazil.service.inspection import TEXT_MOST
from frazil.service.overview import LEVELS


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
    ),
    "characters": {"type": "object", "additionalProperties": {"type": "integer"}},
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
}
"""The schemas by name, for ``ref``."""
