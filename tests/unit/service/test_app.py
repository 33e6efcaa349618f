"""The HTTP API over a real socket: every reply names its namespace and scheme."""

import json
import time

import httpx
import pytest

import frazil
from frazil.service.http.openapi import DOCUMENT
from frazil.service.namespace import BATCH_MOST
from tests.servers.redis import until
from tests.unit.service.conftest import Service

CONFIG = """
[namespaces.plain]
[namespaces.short]
scheme = "js53"
[namespaces.typed]
scheme = "tsid"
prefix = "order_"
check = true
[namespaces.wide]
scheme = "globalid-128"
[namespaces.spread]
scheme = "uniqueid-spread"
fields = { cluster = 3 }
"""
SCHEMES = {
    "plain": frazil.scheme(),
    "short": frazil.scheme("js53"),
    "typed": frazil.scheme(frazil.scheme("tsid"), prefix="order_", check=True),
    "wide": frazil.scheme("globalid-128"),
    "spread": frazil.scheme("uniqueid-spread", fields={"cluster": 3}),
}
PACKED = {"Accept": "application/octet-stream"}
LINES = {"Accept": "text/plain"}


@pytest.fixture
def client(service):
    return service.client


def problem(reply, status, kind):
    """Check that a reply is this problem, and return it."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["type"] == f"urn:frazil:problem:{kind}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


@pytest.mark.parametrize("name", SCHEMES)
class TestEveryNamespace:
    def test_many_in_three_ways(self, client, name):
        scheme = SCHEMES[name]
        json_reply = client.post(f"/v1/{name}/ids", params={"n": 500})
        assert (json_reply.json()["namespace"], json_reply.json()["scheme"]) == (name, scheme.name)
        lines = client.post(f"/v1/{name}/ids", params={"n": 500}, headers=LINES)
        packed = client.post(f"/v1/{name}/ids", params={"n": 500}, headers=PACKED)
        for reply in (json_reply, lines, packed):
            assert reply.status_code == 200
            assert reply.headers.get("frazil-namespace", name) == name
            assert reply.headers["cache-control"] == "no-store"
        for reply in (lines, packed):
            assert reply.headers["frazil-namespace"] == name
            assert reply.headers["frazil-scheme"] == scheme.name
            assert reply.headers["frazil-fingerprint"] == scheme.fingerprint
        width = (scheme.bits + 7) // 8
        chunks = [packed.content[i : i + width] for i in range(0, 500 * width, width)]
        ids = [scheme.parse(text) for text in json_reply.json()["ids"]]
        ids += [scheme.parse(text) for text in lines.text.splitlines()]
        ids += [scheme.codec.from_bytes(chunk) for chunk in chunks]
        assert len(packed.content) == 500 * width
        assert len(ids) == len(set(ids)) == 1500

    def test_inspect(self, client, name):
        made = client.get(f"/v1/{name}/id").json()
        text = made["id"]
        body = client.get(f"/v1/{name}/inspect/{text}").json()
        n = SCHEMES[name].parse(text)
        values = SCHEMES[name].unpack(n)
        assert values.foreign == ()
        for told in (made, body):
            assert (told["namespace"], told["scheme"]) == (name, SCHEMES[name].name)
        assert (body["id"], body["number"]) == (text, str(n))
        assert {f["name"]: int(f["value"]) for f in body["fields"]} == dict(values)
        assert "".join(span["digits"] for span in body["spans"]) == f"{n:0{SCHEMES[name].bits}b}"
        assert abs(body["age_s"]) < 60
        for encoding, other in body["texts"].items():
            again = client.get(f"/v1/{name}/inspect/{other}", params={"encoding": encoding})
            assert again.json()["number"] == str(n)


@pytest.mark.parametrize("n", ["0", "-1", "1.5", "", "x", "1000001", "\u0661", "1_0", "9" * 5000])
def test_wrong_counts(client, n):
    body = problem(client.post("/v1/plain/ids", params={"n": n}), 400, "bad-request")
    assert body["limit"] == str(BATCH_MOST)
    assert body["namespace"] == "plain"


def test_numbers_only_where_they_are_exact(client):
    reply = client.get("/v1/short/id", params={"number": "1"})
    assert isinstance(reply.json()["id"], int)
    many = client.post("/v1/short/ids", params={"number": "1", "n": "3"}).json()["ids"]
    assert [type(n) for n in many] == [int] * 3
    assert isinstance(client.get("/v1/short/id", params={"number": "0"}).json()["id"], str)
    problem(client.get("/v1/plain/id", params={"number": "1"}), 400, "bad-request")
    problem(client.get("/v1/short/id", params={"number": "yes"}), 400, "bad-request")
    lines = client.get("/v1/short/id", params={"number": "1"}, headers=LINES)
    problem(lines, 400, "bad-request")


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("text/*, application/json;q=0.5", "text/plain; charset=utf-8"),
        ("text/html, application/octet-stream;q=0.1", "application/octet-stream"),
        ("application/json;q=0, */*", "text/plain; charset=utf-8"),
        ("text/plain;q=0.5, application/json, application/json;q=0", "application/json"),
    ],
)
def test_accept(client, accept, kind):
    reply = client.get("/v1/plain/id", headers={"Accept": accept})
    assert reply.headers["content-type"] == kind


WINDOW = "/v1/plain/window?from="
BAD, NOT_THERE, METHOD = (
    (400, "bad-request"),
    (404, "unknown-namespace"),
    (405, "method-not-allowed"),
)


@pytest.mark.parametrize(
    ("request_", "problem_"),
    [
        (f"GET {WINDOW}2026-01-01", BAD),
        (f"GET {WINDOW}yesterday&to=2026-01-01", BAD),
        (f"GET {WINDOW}2026-01-01T00:00:00&to=2026-01-02", BAD),
        (f"GET {WINDOW}2026-01-02&to=2026-01-01", BAD),
        (f"GET {WINDOW}0001-01-01T00:00:00%2B23:59&to=2026-01-01", BAD),
        (f"GET {WINDOW}2026-01-01&to=9999-12-31", BAD),
        ("GET /v1/spread/window?from=2026-01-01&to=2026-01-02", BAD),
        ("GET /v1/plain/id?nubmer=1", BAD),
        ("GET /v1/short/id?number=1&number=1", BAD),
        ("GET /v1/plain/id?" + "&".join("a=1" for _ in range(99)), BAD),
        ("GET /v1/plain/id?%ff=1", BAD),
        ("GET /v1/nope/id", NOT_THERE),
        ("GET /v1/nope/window", NOT_THERE),
        ("GET /v1/PLAIN/id", NOT_THERE),
        ("POST /v1/plain/id", METHOD),
        ("DELETE /v1/plain/id", METHOD),
        ("GET /v1/plain/ids", METHOD),
        ("GET /v1/plan", METHOD),
        ("PUT /v1/layouts", METHOD),
    ],
)
def test_requests_that_no_route_answers(client, request_, problem_):
    method, path = request_.split(" ")
    reply = client.request(method, path)
    body = problem(reply, *problem_)
    assert problem_ != BAD or body["namespace"] in path
    allowed = "POST" if method == "GET" else "GET"
    assert problem_ != METHOD or allowed in reply.headers["allow"]
    assert "nubmer" not in path or "number" in body["detail"]


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "*/*;q=nan", ";;,,q="])
def test_not_acceptable(client, accept):
    problem(client.get("/v1/plain/id", headers={"Accept": accept}), 406, "not-acceptable")


def test_a_strange_host_is_refused(client):
    """DNS rebinding: a page whose host name resolves to 127.0.0.1 must not reach the service."""
    problem(client.get("/v1/plain/id", headers={"Host": "evil.example"}), 421, "wrong-host")
    for host in ("localhost:1", "127.0.0.1", "[::1]:80", "LOCALHOST"):
        assert client.get("/v1/plain/id", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("text", ["x", "-1", "99999999999999999999", "0123", "%00", "a%2Fb", "🂡"])
def test_wrong_ids_are_refused_with_the_place(client, text):
    reply = client.get(f"/v1/plain/inspect/{text}")
    assert reply.status_code in {400, 404}
    if reply.status_code == 400:
        body = problem(reply, 400, "bad-request")
        assert "position" in body
        assert "\nSend an ID of scheme" in body["detail"]


def test_a_body_that_is_too_large(client):
    problem(client.post("/v1/plan", content=b" " * 70_000), 413, "too-large")
    problem(client.post("/v1/plain/ids?n=1", content=b"x"), 413, "too-large")
    assert client.get("/v1/plain/id").status_code == 200


@pytest.mark.parametrize(
    "path", ["/console", "/console/", "/console/../app", "/v1", "/v1/plain", "/v1/plain/id/"]
)
def test_nothing_there(client, path):
    reply = client.get(path)
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_health(client):
    assert client.get("/livez").json() == {"live": True}
    assert until(lambda: client.get("/readyz").status_code == 200, "the first claims")
    ready = client.get("/readyz")
    assert ready.json() == {"ready": True, "namespaces": dict.fromkeys(SCHEMES, "ready")}


def test_metrics(client):
    def issued():
        text = client.get("/metrics").text
        line = 'frazil_issued_total{namespace="plain",scheme="icicle",worker="0"} '
        return float(next(one for one in text.splitlines() if one.startswith(line)).split()[-1])

    before = issued()
    client.post("/v1/plain/ids?n=10")
    client.get("/v1/plain/id")
    assert issued() == before + 11
    replies = 'frazil_http_replies_total{door="id",status="200",worker="0"}'
    assert replies in client.get("/metrics").text


def test_openapi_names_every_route(client):
    from frazil.service.app import App
    from frazil.service.settings import read_settings

    app = App(read_settings(url="memory:"))
    routes = {
        (path, route.methods.partition(",")[0].lower()) for path, route in app._routes.table.items()
    }
    for kind, endpoint in app._endpoints.values():
        if kind in {"id", "ids"}:
            assert (f"/v1/{{ns}}/{kind}", endpoint.method.lower()) in routes
    told = {(path, method) for path, item in DOCUMENT["paths"].items() for method in item}
    assert told == routes
    assert client.get("/openapi.json").json() == json.loads(json.dumps(DOCUMENT))
    named = [op["operationId"] for item in DOCUMENT["paths"].values() for op in item.values()]
    assert len(named) == len(set(named))


def test_head_issues_no_id(client):
    assert client.head("/v1/plain/id").status_code == 405
    assert client.head("/livez").status_code == 200


def test_a_client_that_disconnects_gets_no_more_ids_made(client):
    """A million js53 IDs take minutes; after a disconnect no more are made."""
    began = issued_short(client)
    with client.stream("POST", "/v1/short/ids?n=1000000") as reply:
        next(reply.iter_raw())
    counts = [began]
    while len(counts) < 3 or counts[-1] != counts[-2]:  # until no more are made
        assert len(counts) < 60
        time.sleep(1)
        counts.append(issued_short(client))
    assert counts[-1] > began


def issued_short(client):
    _, _, rest = client.get("/metrics").text.partition('frazil_issued_total{namespace="short"')
    return float(rest.split()[1])


def test_a_lost_server_leaves_an_incomplete_reply(tmp_path):
    with Service(tmp_path, CONFIG) as service:
        with service.client.stream("POST", "/v1/short/ids?n=1000000") as reply:
            parts = reply.iter_raw()
            assert next(parts)
            service.process.kill()
            with pytest.raises(httpx.HTTPError):
                list(parts)
        assert service.process.wait() != 0
