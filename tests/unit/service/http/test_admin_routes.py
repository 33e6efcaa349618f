"""The routes for people: IDs in a text, plans, claims, status; and the nonce of a request."""

import pytest

import frazil
from frazil.service.inspection import FOUND_MOST
from tests.unit.service.conftest import Service

ID = "1375354384404488193"
CONFIG = """
[namespaces.plain]
[namespaces.typed]
scheme = "tsid"
prefix = "order_"
[namespaces.wide]
scheme = "globalid-128"
[namespaces.counted]
scheme = "tickets"
registry = "sqlite:///{folder}/counted.db"
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    # A store that may have forgotten numbers says so.
    frazil.init(f"sqlite:///{folder}/counted.db", "tickets", namespace="counted", new=True)
    with Service(folder, CONFIG.replace("{folder}", str(folder))) as service:
        yield service.client


def find(client, text, namespace="plain", **more):
    return client.post(f"/v1/{namespace}/find", json={"text": text, **more})


def test_a_text_full_of_ids_is_reported_in_part(client):
    texts = [str(int(ID) + i) for i in range(FOUND_MOST + 5)]
    found = find(client, " ".join(texts)).json()["found"]
    assert [one["text"] for one in found] == texts[:FOUND_MOST]


def test_what_a_namespace_issues_is_found_as_its_own(client):
    for name in ("plain", "typed", "wide"):
        fresh = client.get(f"/v1/{name}/id").json()
        (found,) = find(client, f"got {fresh['id']}", name).json()["found"]
        assert found["text"] == fresh["id"]
        assert found["scheme"] == fresh["scheme"]
        assert found["said"] in {"just now", "1 second ago", "2 seconds ago", "3 seconds ago"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("13753543844x4488193", "'x' is not a character of decimal"),
        ("no ID stands here", "no ID was found in"),
        ("9999999999999999999", "icicle: its sign is 1, not 0"),
    ],
)
def test_the_error_of_a_text_without_an_id(client, text, words):
    reply = find(client, text)
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/problem+json"
    assert words in reply.json()["detail"]
    assert reply.json()["namespace"] == "plain"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "text: an ID"),
        ({"text": "   "}, "text: an ID"),
        ({"text": 12}, "text: an ID"),
        ({"text": "1" * 4_001}, "from 1 to 4000"),
        ({"text": ID, "scheme": 5}, "scheme: the name"),
        ({"text": ID, "scheme": "snowflak"}, "did you mean 'snowflake'?"),
        ({"text": ID, "extra": 1}, "'extra' is not a known member; known: text, scheme"),
        ([ID], "send a JSON object"),
    ],
)
def test_an_invalid_request(client, body, words):
    reply = client.post("/v1/plain/find", json=body)
    assert reply.status_code == 400
    assert words in reply.json()["detail"]


WRONG_LAYOUTS = [
    "time:41 node:10 sequence:12",
    "time:9999 @1ms",
    "time:41 x:3=9 @1ms",
    "time:41 sequence:-1 @1ms",
    "flavour:3 time:41 sequence:9 @1ms",
]


@pytest.mark.parametrize(
    "body",
    [
        *(b'{"layout": "%s"}' % layout.encode() for layout in WRONG_LAYOUTS),
        b"",
        b"{",
        b"[" * 60_000,
        b"\xff",
        b'{"layout": 1}',
        b'{"layout": "icicel"}',
        b'{"layout": "time:9999 @1ms since 2025-01-01"}',
        b'{"layout": "icicle", "bits": true}',
        b'{"layout": "icicle", "epoch": "x"}',
        b'{"layout": "icicle", "x": 5}',
        b'{"layout": "icicle", "need": {"nodes": 1, "rate_hz": 1, "year": 2060}}',
        b'{"need": {"nodes": 1, "rate_hz": 1}}',
        b'{"need": {"nodes": true, "rate_hz": 1, "year": 2060}}',
        b'{"need": {"nodes": 1, "rate_hz": 1, "year": 1999}}',
        b'{"layout": "' + b"n" * 2001 + b'"}',
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_wrong_plans(client, body):
    """Facts of the error that are not known are omitted."""
    reply = client.post("/v1/plan", content=body)
    assert reply.status_code == 400
    told = reply.json()
    assert told["type"] == "urn:frazil:problem:bad-request"
    assert all(told[name].isdigit() for name in {"limit"} & told.keys()), told
    assert "None" not in [told.get(name) for name in ("field", "limit", "position")]


@pytest.mark.parametrize("nonce", ["x" * 65, "a\tb", "a b", "\xe9"])
def test_a_nonce_that_cannot_come_back_whole_is_refused(client, nonce):
    headers = {"Frazil-Nonce": nonce.encode("latin-1")}
    reply = client.post("/v1/plain/ids?n=1", headers=headers)
    assert reply.status_code == 400, reply.text
    assert "Frazil-Nonce" in reply.json()["detail"]


@pytest.mark.parametrize("nonce", ["x" * 64, "~!", ""])
def test_a_reply_names_the_nonce_of_its_request(client, nonce):
    reply = client.post("/v1/plain/ids?n=1", headers={"Frazil-Nonce": nonce})
    assert reply.status_code == 200, reply.text
    assert reply.headers.get("Frazil-Nonce", "") == nonce


def test_claims_of_a_counter(client):
    fresh = int(client.get("/v1/counted/id").json()["id"])
    told = client.get("/v1/counted/claims").json()
    assert (told["axis"], told["now_value"]) == ("sequence", None)
    (slot,) = told["slots"]
    assert slot["state"] == "held"
    assert slot["process"] == client.get("/v1/counted/status").json()["process"]
    assert int(slot["start_value"]) <= fresh < int(slot["until_value"])


def test_status_counts(client):
    before = client.get("/v1/wide/status").json()
    client.post("/v1/wide/ids?n=10")
    after = client.get("/v1/wide/status").json()
    assert after["issued"] == before["issued"] + 10
    assert after["waits"] >= before["waits"]
    assert (after["ready"], after["why"], after["failures"]) == (True, None, 0)
    assert after["exhausted_in_s"] > 0


def test_a_registry_that_does_not_answer(tmp_path):
    """Claims get a problem that does not name the registry's host; status still works."""
    config = '[namespaces.plain]\nregistry = "redis://127.0.0.1:1/0"\n'
    with Service(tmp_path, config) as service:
        reply = service.client.get("/v1/plain/claims")
        assert reply.status_code == 503
        assert "does not answer" in reply.json()["detail"]
        assert "127.0.0.1" not in reply.text
        status = service.client.get("/v1/plain/status").json()
        assert status["ready"] is False
        assert "registry does not answer" in status["why"]
