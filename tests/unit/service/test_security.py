"""Security from the outside: a real service with tokens, and callers without."""

import json
import re

import pytest
from click.testing import CliRunner

from frazil.cli import main
from frazil.service.tokens import hash_of
from tests.unit.service.conftest import token

ALL, ISSUE, INSPECT, ADMIN, OTHER, OLD = (
    f"frazil_{name}" for name in ("all", "issue", "inspect", "admin", "other", "old")
)
ONE = {ISSUE: "issue", INSPECT: "inspect", ADMIN: "admin"}
TOKENS = token(ALL, "issue", "inspect", "admin") + token(OLD, more="expires = 2020-01-01T00:00:00Z")
TOKENS += "".join(token(name, scope, places="a") for name, scope in ONE.items())
CONFIG = f"""
[namespaces.a]
registry = "memory:"
[namespaces.b]
registry = "memory:"
{TOKENS}
"""


def ask(service, path, token=None, method="GET", **options):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if path.endswith("/find"):
        options["json"] = {"text": "1375354384404488193"}
    return service.client.request(method, path, headers=headers, **options)


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/v1/a/id", "issue"),
        ("POST", "/v1/a/ids?n=1", "issue"),
        ("GET", "/v1/a/inspect/1", "inspect"),
        ("GET", "/v1/a/window?from=2026-01-01&to=2026-01-02", "inspect"),
        ("POST", "/v1/a/find", "inspect"),
        ("GET", "/v1/a/claims", "admin"),
        ("GET", "/v1/a/status", "admin"),
        ("GET", "/metrics", "admin"),
    ],
)
def test_scopes_and_namespaces(service, method, path, scope):
    missing = ask(service, path, None, method)
    assert missing.status_code == 401
    assert missing.headers["www-authenticate"].startswith("Bearer")
    assert ask(service, path, OTHER, method).status_code == 401
    assert ask(service, path, hash_of(ALL), method).status_code == 401
    assert ask(service, path, ALL, method).status_code == 200
    for name, allowed in ONE.items():
        assert ask(service, path, name, method).status_code == (200 if scope == allowed else 403)
    expired = ask(service, path, OLD, method)
    assert expired.status_code == 401
    assert "expired" in expired.json()["detail"]
    if "/a/" in path:
        assert ask(service, path.replace("/a/", "/b/"), ISSUE, method).status_code == 403


@pytest.mark.parametrize("token", ["", OTHER, OLD, ISSUE])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
@pytest.mark.parametrize("rest", ["id", "ids?n=1", "inspect/1", "find", "status"])
def test_a_refusal_does_not_show_whether_a_namespace_exists(service, method, rest, token):
    """A namespace that the token does not cover: the same bytes, apart from its name."""
    head = f"Host: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    there, nowhere = (
        re.sub(
            rb"\r\ndate: [^\r]*|(?<=['\"])" + name.encode() + rb"(?=['\"])",
            b"",
            service.said(f"{method} /v1/{name}/{rest} HTTP/1.1\r\n{head}".encode()),
        )
        for name in ("b", "z")
    )
    assert there == nowhere
    assert int(there.split()[1]) in {401, 403, 404, 405}


def test_a_token_for_all_namespaces_shows_which_do_not_exist(service):
    assert ask(service, "/v1/nope/id", ALL).status_code == 404
    assert ask(service, "/v1/nope/ids?n=1", ALL, "POST").json()["namespace"] == "nope"


def test_health_needs_no_token_and_shows_little(service):
    assert ask(service, "/livez").status_code == 200
    assert ask(service, "/readyz").json() == {"ready": True}
    assert ask(service, "/readyz", ISSUE).json() == {"ready": True}
    assert set(ask(service, "/readyz", ALL).json()["namespaces"]) == {"a", "b"}
    assert ask(service, "/openapi.json").status_code == 200
    assert ask(service, "/").status_code == 200
    (mine,) = ask(service, "/v1/layouts", ISSUE).json()["namespaces"]
    assert mine["namespace"] == "a"


def test_metrics_are_of_the_namespaces_of_the_token(service):
    assert 'namespace="b"' not in ask(service, "/metrics", ADMIN).text
    for name in "ab":
        assert f'namespace="{name}"' in ask(service, "/metrics", ALL).text
    assert list(ask(service, "/readyz", ADMIN).json()["namespaces"]) == ["a"]


def test_no_cross_origin_reading(service):
    headers = {"Origin": "https://evil.example", "Authorization": f"Bearer {ALL}"}
    reply = service.client.get("/v1/a/id", headers=headers)
    assert not [name for name in reply.headers if name.startswith("access-control")]
    asked = {**headers, "Access-Control-Request-Method": "POST"}
    assert service.client.options("/v1/a/ids", headers=asked).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/v1/a%0d%0aX-Evil:1/id",
        "/v1/%0d%0aa/window",
        "/v1/a/inspect/%0d%0aX:1",
        "/%00",
        "/v1/a%00/id",
    ],
)
def test_no_header_is_injected(service, path):
    reply = ask(service, path, ALL)
    assert reply.status_code in {400, 404}
    assert not [name for name in reply.headers if "evil" in name or name == "x"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/b/../a/id",
        "/v1/a/../b/id",
        "/v1/./a/id",
        "//v1/a/id",
        "/v1/a/id/",
        "/v1/a//id",
        "/v1/a/id;x",
        "/v1/a%2fid",
        "/v1/%61/id",
        "/%6detrics",
        "/%2e%2e/metrics",
        "/metrics/../livez",
        "/v1/a/inspect/../id",
        "/v1/a/inspect/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/%61/inspect/1",
        "/V1/a/id",
        "/v1/A/id",
        "http://x/v1/b/id",
        "/metrics",
    ],
)
def test_path_tricks(service, path):
    """With a token for namespace ``a``, and paths that no client library sends."""
    auth = f"Host: x\r\nConnection: close\r\nAuthorization: Bearer {ISSUE}\r\n\r\n"
    answer = service.said(f"GET {path} HTTP/1.1\r\n{auth}".encode())
    assert int(answer.split(b" ", 2)[1]) in {400, 403, 404}


def test_an_id_may_be_written_with_percent_signs(service):
    assert ask(service, "/v1/a/inspect/%31", ALL).json()["number"] == "1"


def test_no_secret_is_in_the_log(service):
    ask(service, f"/v1/a/id?token={ALL}", OTHER)
    ask(service, f"/{ALL}", ALL)
    assert service.lines
    assert not [line for line in service.lines if "frazil_" in json.dumps(line)]


def test_passwords_of_registries_are_masked(start):
    service = start('[namespaces.a]\nregistry = "redis://me:hunter2@127.0.0.1:1"\ntimeout = "1s"')
    reply = service.client.get("/v1/a/id")
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"
    line = service.wait_for("no id")
    assert line["error"] == "RegistryUnavailable"
    shown = json.dumps(line) + reply.text
    assert "hunter2" not in shown
    assert "127.0.0.1" not in reply.text


def test_any_host_without_tokens(start):
    """Behind a proxy the host name is that of the proxy; --without-tokens accepts it."""
    service = start('[namespaces.a]\nregistry = "memory:"', "--without-tokens")
    assert service.client.get("/v1/a/id", headers={"Host": "ids.example"}).status_code == 200


def test_an_open_service_is_refused(tmp_path):
    result = CliRunner().invoke(main, ["serve", "memory:", "--host", "0.0.0.0", "--port", "0"])
    assert result.exit_code == 2
    assert "--without-tokens" in result.output


def test_a_new_token_and_its_hash():
    made, digest = CliRunner().invoke(main, ["serve", "--new-token"]).output.splitlines()
    assert digest == f'hash = "{hash_of(made.removeprefix("token: "))}"'
