"""Quotas: how many IDs a token may have, over HTTP and Redis."""

import copy
import hashlib
import multiprocessing
import time

import httpx
import pytest
import redis

from frazil.service import tokens
from frazil.service.tokens import Buckets
from frazil.system import clock
from tests.unit.service.conftest import Service, token

SOME, MORE = "frazil_some", "frazil_more"
CONFIG = f"""
[server]
resp_port = 0
[namespaces.a]
registry = "memory:"
lead = "500ms"
{token("some", "issue", "inspect", secret=SOME, more="ids_per_minute = 100")}
{token("more", secret=MORE)}
"""


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, CONFIG, token=SOME) as service:
        yield service


def test_a_token_gets_at_most_its_quota(service):
    client = service.client
    assert client.post("/v1/a/ids?n=60").status_code == 200
    over = client.post("/v1/a/ids?n=60")
    assert over.status_code == 429
    assert over.json()["type"] == "urn:frazil:problem:over-quota"
    assert 1 <= int(over.headers["retry-after"]) <= 12
    retry = f"retry in {over.headers['retry-after']} s"
    assert over.json()["detail"] == f"the quota of this token is 100 IDs a minute; {retry}"
    began_s, many = time.monotonic(), 0
    while client.get("/v1/a/id").status_code == 200:
        many += 1
    assert 40 <= many <= 40 + 2 * (time.monotonic() - began_s + 12)
    assert client.get("/v1/a/inspect/1").status_code == 200
    free = {"Authorization": f"Bearer {MORE}"}
    assert client.post("/v1/a/ids?n=1000", headers=free).status_code == 200


def test_one_quota_for_http_and_redis(service):
    with redis.Redis(port=service.resp, password=SOME) as client:
        assert len(client.execute_command("FRAZIL.IDS", "a", 90)) == 90
        with pytest.raises(redis.ResponseError, match="the quota of this token is 100"):
            client.execute_command("FRAZIL.IDS", "a", 90)
        with pytest.raises(redis.ResponseError, match="the quota of this token is 100 IDs"):
            client.execute_command("FRAZIL.IDS", "a", 101)
        for command in (["INCR", "a"], ["FRAZIL.ID", "a"]):
            client.execute_command(*command)
    assert service.client.post("/v1/a/ids?n=60").status_code == 429


@pytest.fixture
def now(monkeypatch):
    """A clock that the test controls, in ns."""
    state = [clock.boot_ns()]
    monkeypatch.setattr(tokens, "boot_ns", lambda: state[0])
    return state


def test_a_quota_that_changes():
    buckets, digest = Buckets(), hashlib.sha256(b"one").digest()
    assert buckets.wait_s(digest, 100, 90) == 0
    assert buckets.wait_s(digest, 5, 5) == 0
    assert buckets.wait_s(digest, 5, 5) > 0
    assert buckets.wait_s(digest, 5, 6) == float("inf")


def test_a_process_takes_a_slice_at_a_time(now, monkeypatch):
    """So it locks once for a thousandth of a quota, and the rest of a slice goes back."""
    locks = []
    monkeypatch.setattr(tokens, "lockf", lambda _file, how: locks.append(how))
    one = hashlib.sha256(b"one").digest(), 1_000_000
    here = Buckets()
    there = copy.copy(here)  # another process
    there._slices = {}
    assert [here.wait_s(*one, 1) for _ in range(10_010)] == [0.0] * 10_010
    assert locks == [tokens.LOCK_EX, tokens.LOCK_UN] * 10
    assert there.left(*one) == 1_000_000 - 10_010
    assert here.left(*one) == 1_000_000 - 10_010
    assert there.wait_s(*one, 980_000) == here.wait_s(*one, 8_990) == 0.0
    assert here.wait_s(*one, 1) > 0  # a slice is there
    now[0] += 6 * 10**9
    assert here.wait_s(*one, 50_000) == 0.0
    assert there.left(*one) == 50_000  # with the slice that was there, without the one here
    assert here.left(*one) == 51_000


def test_more_tokens_than_places():
    """Each still gets at most its quota at a time."""
    buckets = Buckets()
    for at in range(10_000):
        digest = hashlib.sha256(str(at).encode()).digest()
        assert buckets.wait_s(digest, 5, 5) == 0
        assert buckets.wait_s(digest, 5, 5) > 0


def test_processes_count_together(tmp_path):
    """Eight processes, two of them killed while they count: together they get one quota."""
    most, buckets = 20_000, Buckets()
    one, other = (hashlib.sha256(name).digest() for name in (b"one", b"other"))
    context = multiprocessing.get_context("fork")
    begin = context.Event()

    def ask(file):
        begin.wait()
        had, until = 0, time.monotonic() + 1.0
        while time.monotonic() < until:
            had += not buckets.wait_s(one, most, 1)
        file.write_text(str(had), encoding="ascii")

    files = [tmp_path / str(i) for i in range(8)]
    processes = [context.Process(target=ask, args=(file,), daemon=True) for file in files]
    began = time.monotonic()
    for process in processes:
        process.start()
    begin.set()
    for process in processes[:2]:
        time.sleep(0.1)
        process.kill()
    for process in processes:
        process.join(60)
        assert not process.is_alive()
    had = sum(int(file.read_text(encoding="ascii")) for file in files[2:])
    assert 0 < had <= most + most / 60 * (time.monotonic() - began)
    assert buckets.wait_s(other, 5, 5) == 0


def test_workers_count_together(tmp_path):
    config = CONFIG.replace('"memory:"', f'"sqlite:///{tmp_path}/claims.db?horizon=1s"')
    with Service(tmp_path, config, "--workers", "3", token=SOME) as service:
        statuses = []
        for _ in range(12):  # each on a connection of its own, and so of any of the workers
            with httpx.Client(base_url=service.url, headers=service.client.headers) as client:
                statuses.append(client.post("/v1/a/ids?n=50", timeout=60).status_code)
        assert statuses == [200, 200, *[429] * 10]
