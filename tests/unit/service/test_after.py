"""``?after=`` and ``AFTER``: IDs that exceed those that a client has seen."""

import time

import pytest
import redis

import frazil

CONFIG = """
[server]
resp_port = 0
[namespaces.a]
registry = "memory:"
[namespaces.g]
scheme = "globalid"
epoch = "2025-01-01T00:00:00Z"
registry = "memory:"
"""
SCHEME = frazil.scheme("icicle")


def ahead(seconds):
    return SCHEME.pack(moment=int((time.time() + seconds) * 1e6))


def get(service, **query):
    return service.client.get("/v1/a/id", params=query)


def test_http(service):
    first = int(get(service).json()["id"])
    for seen in (first, ahead(0.2), f"{first},{ahead(0.1)}"):
        most = max(map(int, str(seen).split(",")))
        assert int(get(service, after=seen).json()["id"]) > most
        many = service.client.post("/v1/a/ids", params={"n": 600, "after": ahead(0.1)})
        assert min(map(int, many.json()["ids"])) > most


def test_one_that_cannot_be_fails_its_own_request(service):
    far = ahead(3000)
    for seen, words in ((far, "no process of this namespace"), ("zz", "not a character")):
        reply = get(service, after=seen)
        assert reply.status_code == 400
        assert words in reply.json()["detail"]
        assert "?trusted=0" in reply.json()["detail"]
        assert get(service, after=seen, trusted=0).status_code == 200
    assert get(service, after=",".join(["1"] * 101)).status_code == 400
    assert get(service, after=1, trusted="no").status_code == 400
    early = get(service, after=ahead(50))
    assert early.status_code == 503
    assert 40 < int(early.headers["retry-after"]) <= 51
    assert service.client.get("/readyz").status_code == 200
    refused = service.client.get("/v1/g/id", params={"after": "1"})
    assert refused.status_code == 400
    assert "do not sort by time" in refused.json()["detail"]
    assert "trusted" not in refused.json()["detail"]


def test_redis(service):
    client = redis.Redis(port=service.resp, protocol=3, decode_responses=True)
    first = client.execute_command("FRAZIL.ID", "a")
    assert int(client.execute_command("FRAZIL.ID", "a", "AFTER", first)) > int(first)
    seen = ahead(0.2)
    assert int(client.execute_command("FRAZIL.ID", "a", "after", first, seen)) > seen
    seen = ahead(0.1)
    many = client.execute_command("FRAZIL.IDS", "a", 3, "AFTER", seen)
    assert min(map(int, many)) > seen
    for wrong in ("zz", str(ahead(3000))):
        with pytest.raises(redis.ResponseError, match=r"not a character|no process"):
            client.execute_command("FRAZIL.ID", "a", "AFTER", wrong)
    with pytest.raises(redis.ResponseError, match="AFTER id"):
        client.execute_command("FRAZIL.ID", "a", "AFTER")
    client.close()
