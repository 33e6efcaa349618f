"""CORS: browsers let only pages of the configured origins read replies."""

import pytest

PAGE = "https://app.example"


CONFIG = f'[server]\ncors = ["{PAGE}"]\n[namespaces.a]\nregistry = "memory:"'


@pytest.mark.parametrize("path", ["/v1/a/id", "/v1/a/inspect/1", "/v1/nope/id", "/livez"])
def test_a_page_of_an_allowed_origin(service, path):
    reply = service.client.get(path, headers={"Origin": PAGE})
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert "origin" in ",".join(reply.headers.get_list("vary"))
    assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.parametrize("origin", ["https://evil.example", f"{PAGE}.evil.example", "null", "*"])
def test_a_page_of_another_origin(service, origin):
    reply = service.client.get("/v1/a/id", headers={"Origin": origin})
    assert reply.status_code == 403
    assert "access-control-allow-origin" not in reply.headers


def test_a_preflight_request_is_answered(service):
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    reply = service.client.options("/v1/a/ids", headers=asked)
    assert reply.status_code == 204
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert "authorization" in reply.headers["access-control-allow-headers"]


def test_any_page(start):
    service = start('[server]\ncors = ["*"]\n[namespaces.a]\nregistry = "memory:"')
    reply = service.client.get("/v1/a/id", headers={"Origin": "https://anybody.example"})
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == "*"
