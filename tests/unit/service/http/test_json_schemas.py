"""A member has the same type in every reply: in the document, and in real replies."""

from collections import defaultdict

import pytest

from frazil.service.http.openapi import DOCUMENT
from tests.unit.service.conftest import Service

CONFIG = """
[namespaces.a]
registry = "memory:"
lead = "100ms"
[namespaces.spread]
scheme = "uniqueid-spread"
fields = {cluster = 3}
registry = "memory:b"
"""
BY_KEY = {
    "characters",
    "texts",
    "constants",
    "namespaces",
}  # objects whose members have names of their own
# An ID is a number only where the caller asks for numbers; /readyz has a reason for each namespace.
EITHER = {
    "id": {"string", "number"},
    "ids[]": {"string", "number"},
    "namespaces": {"array", "object"},
}
WRONG_PLANS = [
    "icicel",
    "time:41 node:10 sequence:12",
    "time:41 node:10 sequence:12 @1ms since x",
    "time:9999 @1ms",
    "node:3 node:4 sequence:9",
    "time:41 x:3=9 @1ms",
    "time:41 sequence:-1 @1ms",
    "time[3..9] @1ms",
    "flavour:3 time:41 sequence:9 @1ms",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), CONFIG) as service:
        yield service


def kind(value):
    if isinstance(value, bool):
        return "boolean"
    kinds = {str: "string", int: "number", float: "number", list: "array", dict: "object"}
    return kinds[type(value)]


def gather(value, found, name=""):
    """Collect the types of all members, by name; null is ignored."""
    if value is None:
        return
    if name:
        found[name].add(kind(value))
    if isinstance(value, dict):
        for key, item in value.items():
            gather(item, found, f"{name}.*" if name in BY_KEY else key)
    elif isinstance(value, list):
        for item in value:
            gather(item, found, f"{name}[]")


def promised(schema, found, name=""):
    """Collect the same from a schema."""
    types = schema.get("type", [])
    types = {
        "number" if one == "integer" else one
        for one in [*([types] if isinstance(types, str) else types)]
    }
    if "enum" in schema:
        types |= {kind(one) for one in schema["enum"]}
    if name and types - {"null"}:
        found[name] |= types - {"null"}
    for key, item in schema.get("properties", {}).items():
        promised(item, found, key)
    if isinstance(schema.get("additionalProperties"), dict):
        promised(schema["additionalProperties"], found, f"{name}.*")
    if "items" in schema:
        promised(schema["items"], found, f"{name}[]")


def of_document():
    found = defaultdict(set)

    def walk(node):
        if isinstance(node, dict):
            if "properties" in node:
                promised(node, found)
            for item in node.values():
                walk(item)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(DOCUMENT)
    return found


def replies(client):
    for name in ("a", "spread"):
        one = client.get(f"/v1/{name}/id").json()["id"]
        yield client.post(f"/v1/{name}/ids?n=3")
        yield client.get(f"/v1/{name}/inspect/{one}")
        yield client.get(f"/v1/{name}/inspect/{one}?")
        yield client.get(f"/v1/{name}/inspect/!")
        yield client.get(f"/v1/{name}/inspect/{'9' * 40}")
        yield client.post(f"/v1/{name}/find", json={"text": f"GET /{one}/x 200"})
        yield client.post(f"/v1/{name}/find", json={"text": "0ujtsYcgvSTl8PAuAdqWYSMnLOv"})
        yield client.get(f"/v1/{name}/claims")
        yield client.get(f"/v1/{name}/status")
        yield client.get(f"/v1/{name}/window?from=2026-01-01&to=2026-01-02")
        yield client.get(f"/v1/{name}/window?from=1900-01-01&to=2026-01-02")
        yield client.get(f"/v1/{name}/window?from=x&to=y")
        yield client.get(f"/v1/{name}/id?number=1")
        yield client.post(f"/v1/{name}/ids?n=0")
    yield client.get("/v1/layouts")
    yield client.get("/v1/overview")
    for layout in ("icicle", "tickets", "time:33 node:2 sequence:9 @100ms", *WRONG_PLANS):
        yield client.post("/v1/plan", json={"layout": layout})
    yield client.post("/v1/plan", json={"layout": "icicle", "bits": 3})
    yield client.post("/v1/plan", json={"layout": "icicle", "epoch": "x"})
    for path in ("/livez", "/readyz", "/nothing", "/v1/none/id"):
        yield client.get(path)


def test_a_member_has_one_type_in_the_document():
    found = of_document()
    assert {"limit", "position", "node", "process", "digits"} <= found.keys()
    twice = {name: types for name, types in found.items() if len(types) > 1}
    assert twice == EITHER


def test_a_member_has_the_type_of_the_document_in_every_answer(service):
    document, statuses = of_document(), set()
    for reply in replies(service.client):
        statuses.add(reply.status_code)
        found = defaultdict(set)
        gather(reply.json(), found)
        for name, types in found.items():
            assert types <= document.get(name, types), (name, reply.url, reply.text)
            assert name in document or name.endswith("[]"), (name, reply.url)
    assert statuses >= {200, 400, 404}


@pytest.mark.parametrize("layout", WRONG_PLANS)
def test_unknown_facts_of_an_error_are_omitted(service, layout):
    reply = service.client.post("/v1/plan", json={"layout": layout})
    assert reply.status_code == 400
    told = reply.json()
    assert all(told[name].isdigit() for name in {"limit"} & told.keys()), told
    assert "None" not in [told.get(name) for name in ("field", "limit", "position")]


@pytest.mark.parametrize("nonce", ["x" * 65, "a\tb", "a b", "\xe9"])
def test_a_nonce_that_cannot_come_back_whole_is_refused(service, nonce):
    headers = {"Frazil-Nonce": nonce.encode("latin-1")}
    reply = service.client.post("/v1/a/ids?n=1", headers=headers)
    assert reply.status_code == 400, reply.text
    assert "Frazil-Nonce" in reply.json()["detail"]


@pytest.mark.parametrize("nonce", ["x" * 64, "~!", ""])
def test_a_reply_names_the_nonce_of_its_request(service, nonce):
    reply = service.client.post("/v1/a/ids?n=1", headers={"Frazil-Nonce": nonce})
    assert reply.status_code == 200, reply.text
    assert reply.headers.get("Frazil-Nonce", "") == nonce
