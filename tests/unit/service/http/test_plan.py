"""``POST /v1/plan``: the plan of a layout, and layouts for a need."""

import pytest

from tests.unit.service.conftest import Service


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), "[namespaces.plain]\n") as service:
        yield service.client


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 60_000,
        b"\xff",
        b'{"layout": 1}',
        b'{"layout": ""}',
        b'{"layout": "icicel"}',
        b'{"layout": "time:9999 @1ms since 2025-01-01"}',
        b'{"layout": "icicle", "bits": true}',
        b'{"layout": "icicle", "bits": 3}',
        b'{"layout": "icicle", "epoch": "x"}',
        b'{"layout": "icicle", "epoch": 5}',
        b'{"layout": "icicle", "x": 5}',
        b'{"layout": "icicle", "need": {"nodes": 1, "rate_hz": 1, "year": 2060}}',
        b'{"need": [1, 1, 2060]}',
        b'{"need": {"nodes": 1, "rate_hz": 1}}',
        b'{"need": {"nodes": 1, "rate_hz": "1", "year": 2060}}',
        b'{"need": {"nodes": true, "rate_hz": 1, "year": 2060}}',
        b'{"need": {"nodes": 1, "rate_hz": 1, "year": 1999}}',
        b'{"layout": "' + b"n" * 2001 + b'"}',
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_wrong_plans(client, body):
    reply = client.post("/v1/plan", content=body)
    assert reply.status_code == 400
    assert reply.json()["type"] == "urn:frazil:problem:bad-request"
