"""A member has the same type in every reply: in the document, and in real replies."""

import pytest

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
