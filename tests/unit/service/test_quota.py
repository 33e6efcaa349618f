"""Quotas: how many IDs a token may have, at both doors."""

import contextlib

import pytest
import redis

from frazil import clock
from frazil.service import quota
from frazil.service.quota import Bucket
from frazil.service.tokens import Guard, OverQuota, Token, hash_of
from tests.unit.service.conftest import Service

__all__: list[str] = []

SOME, MORE = "frazil_some", "frazil_more"
CONFIG = f"""
[server]
resp_port = 0
[namespaces.a]
registry = "memory:"
lead = "500ms"
[[tokens]]
name = "some"
hash = "{hash_of(SOME)}"
namespaces = ["*"]
scopes = ["issue", "inspect"]
ids_per_minute = 100
[[tokens]]
name = "more"
hash = "{hash_of(MORE)}"
namespaces = ["*"]
scopes = ["issue"]
"""


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, CONFIG, token=SOME) as service:
        yield service


def test_a_token_has_so_many_and_no_more(service):
    client = service.client
    assert client.post("/v1/a/ids?n=60").status_code == 200
    over = client.post("/v1/a/ids?n=60")
    assert over.status_code == 429
    assert over.json()["type"] == "urn:frazil:problem:over-quota"
    assert 1 <= int(over.headers["retry-after"]) <= 12
    assert "100 IDs a minute" in over.json()["detail"]
    statuses = [client.get("/v1/a/id").status_code for _ in range(60)]
    assert statuses.count(200) in range(40, 50)
    assert statuses[0] == 200
    assert statuses[-1] == 429
    assert client.get("/v1/a/inspect/1").status_code == 200
    free = {"Authorization": f"Bearer {MORE}"}
    assert client.post("/v1/a/ids?n=1000", headers=free).status_code == 200


def test_more_than_it_ever_may_have_at_once(service):
    refused = service.client.post("/v1/a/ids?n=101")
    assert refused.status_code == 413
    assert refused.json()["limit"] == "100"
    assert service.client.post("/v1/a/ids?n=100").status_code == 200


def test_one_quota_for_both_doors(service):
    port = service.wait_for("listening for redis clients")["port"]
    with redis.Redis(port=port, password=SOME) as client:
        assert len(client.execute_command("FRAZIL.IDS", "a", 90)) == 90
        with pytest.raises(redis.ResponseError, match="this token may have 100"):
            client.execute_command("FRAZIL.IDS", "a", 90)
        with pytest.raises(redis.ResponseError, match="this token may have 100 IDs"):
            client.execute_command("FRAZIL.IDS", "a", 101)
        for command in (["INCR", "a"], ["FRAZIL.ID", "a"]):
            client.execute_command(*command)
    assert service.client.post("/v1/a/ids?n=60").status_code == 429


@pytest.fixture
def now(monkeypatch):
    """A clock that the test moves, in ns."""
    state = [clock.boot_ns()]
    monkeypatch.setattr(quota, "boot_ns", lambda: state[0])
    return state


def test_it_fills_evenly_and_holds_a_minute(now):
    bucket = Bucket(60)
    assert bucket.wait_s(60) == 0
    assert bucket.wait_s(1) == 1
    now[0] += 10 * 10**9
    assert bucket.wait_s(10) == 0
    assert bucket.wait_s(5) == 5
    now[0] += 3600 * 10**9
    assert bucket.wait_s(60) == 0
    assert bucket.wait_s(1) == 1


def test_sharers_have_no_more_in_all(now):
    token = Token("x", bytes.fromhex(hash_of("x")[7:]), frozenset("*"), frozenset(), None, 100)
    guards = [Guard((token,), 3) for _ in range(3)]
    had = 0
    for guard in guards:
        with contextlib.suppress(OverQuota):
            for _ in range(1000):
                guard.charge(b"x", 1)
                had += 1
    assert had == 99
