"""Wrong plans and nonces: errors without facts that are unknown, and replies with their nonce."""

import pytest

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
