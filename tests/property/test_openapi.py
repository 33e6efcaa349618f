"""The OpenAPI document against the live service: whatever is asked, the answer is one it promises.

Requests are made from the document, right and wrong ones: values that its schemas allow, and any
text where a value belongs. No answer may be a 5xx; a good one has a media type and a shape that the
document names; every other one is a problem.
"""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from frazil.service.openapi import DOCUMENT
from tests.unit.service.conftest import Service

__all__: list[str] = []

OPERATIONS = [
    (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}
TEXTS = st.text(max_size=30) | st.sampled_from(["", ".", "..", "%", "a/b", "\0", "\r\nX: y", "é"])
LIKELY = {
    "ns": st.sampled_from(["a", "js", "none"]),
    "id": st.integers(0, 2**64).map(str),
    "n": st.integers(-1, 2_000).map(str),
    "from": st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    "to": st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
}
LAYOUTS = st.sampled_from(["icicle", "tsid", "js53", "time:41 node:10 sequence:12 @1ms", "x:0"])
ACCEPTS = st.sampled_from(["*/*", "text/plain", "application/octet-stream", "image/png", ";q=x"])


def faults(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    """Where a value is not as a schema has it; of the words that the document uses."""
    if "$ref" in schema:
        return faults(value, DOCUMENT["components"]["schemas"][schema["$ref"].split("/")[-1]], at)
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    fits = any(isinstance(value, TYPES[kind]) for kind in kinds)
    if not fits or (isinstance(value, bool) and "boolean" not in kinds):
        return [f"{at} is {type(value).__name__}"]
    found = [f"{at} is not of the enum"] * (value not in schema.get("enum", [value]))
    if isinstance(value, dict):
        found += [
            f"{at}.{name} is missing" for name in schema.get("required", []) if name not in value
        ]
        others = schema.get("additionalProperties", {})
        for name, one in value.items():
            shape = schema.get("properties", {}).get(name, others)
            found += faults(one, shape, f"{at}.{name}") if shape is not False else [f"{at}.{name}"]
    if isinstance(value, list):
        for i, one in enumerate(value[:20]):
            found += faults(one, schema.get("items", {}), f"{at}[{i}]")
    return found


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    """A method, a path, the operation, and what else httpx is told."""
    method, path, operation = draw(st.sampled_from(OPERATIONS))
    query: dict[str, str] = {}
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        right = LIKELY.get(name, st.sampled_from(parameter["schema"].get("enum", ["x"])))
        value = draw(right if draw(st.integers(0, 3)) else TEXTS)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        elif parameter["required"] or draw(st.booleans()):
            query[name] = value
    if not draw(st.integers(0, 5)):
        query[draw(TEXTS)] = draw(TEXTS)
    more: dict[str, Any] = {"params": query, "headers": {"Accept": draw(ACCEPTS)}}
    if "requestBody" in operation:
        right = st.fixed_dictionaries({"layout": LAYOUTS})
        body = draw(right if draw(st.booleans()) else st.dictionaries(TEXTS, TEXTS | st.none()))
        more["content"] = json.dumps(body) if draw(st.integers(0, 3)) else draw(TEXTS).encode()
    return method.upper(), path, operation, more


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    config = """
        [namespaces.a]
        registry = "memory:"
        [namespaces.js]
        scheme = "js53"
        registry = "memory:?horizon=1s"
        lead = "500ms"
    """
    with Service(tmp_path_factory.mktemp("service"), config) as service:
        yield service


@given(asked=requests())
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_answer_is_one_of_those_promised(service, asked):
    method, path, operation, more = asked
    reply = service.client.request(method, path, **more)
    media = reply.headers.get("content-type", "").partition(";")[0]
    assert reply.status_code < 500, (asked, reply.text)
    promised = operation["responses"].get(str(reply.status_code))
    if promised is None:
        assert media == "application/problem+json", (asked, reply.text)
        problem = DOCUMENT["components"]["schemas"]["Problem"]
        assert faults(reply.json(), problem) == []
        assert reply.json()["status"] == reply.status_code
        return
    assert media in promised["content"], (asked, media)
    if media == "application/json":
        assert faults(reply.json(), promised["content"][media]["schema"]) == [], asked


def test_faults_are_found():
    plan = {"$ref": "#/components/schemas/Problem"}
    good = {"type": "x", "title": "x", "status": 400, "detail": "x"}
    assert faults(good, plan) == []
    assert faults({**good, "status": "400"}, plan) == ["$.status is str"]
    assert faults({"type": "x", "title": "x", "status": 1}, plan) == ["$.detail is missing"]
    assert faults([{"id": True}], {"items": {"properties": {"id": {"type": "integer"}}}}) == [
        "$[0].id is bool"
    ]
    assert faults("c", {"enum": ["a", "b"]}) == ["$ is not of the enum"]
    assert faults({"x": 1}, {"additionalProperties": False}) == ["$.x"]
