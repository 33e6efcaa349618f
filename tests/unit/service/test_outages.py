"""A store that goes away: which calls fail and when, and what readiness says."""

import time

import pytest

from tests.servers.redis import Server, until
from tests.tools.proxy import Proxy
from tests.unit.service.conftest import Service

CONFIG = '[namespaces.a]\nregistry = "redis://127.0.0.1:{}?timeout=300ms&horizon=3s"\n'


@pytest.fixture
def store():
    with Server() as redis, Proxy(redis.port) as wire:
        yield wire


def ready(service):
    return service.client.get("/readyz").status_code == 200


def test_a_new_namespace_has_its_first_claim_when_it_is_ready(start, store):
    service = start(CONFIG.format(store.port) + 'timeout = "1s"')
    red = service.client.get("/readyz")
    assert red.status_code == 503
    assert "first claim" in red.json()["namespaces"]["a"]
    assert until(lambda: ready(service), "readiness")
    # A caller waits for one second, and the first claim of a new record takes three.
    assert service.client.get("/v1/a/id").status_code == 200


def test_calls_fail_at_once_in_an_outage_and_go_on_after_it(tmp_path, store):
    with Service(tmp_path, CONFIG.format(store.port)) as service:
        assert until(lambda: ready(service), "readiness")
        ids = [service.client.get("/v1/a/id").json()["id"]]
        with store.refusing():
            store.cut()
            assert until(
                lambda: service.client.get("/v1/a/id").status_code == 503, "the end of the claim"
            )
            began_s = time.monotonic()
            for _ in range(10):
                reply = service.client.get("/v1/a/id")
                assert reply.status_code == 503
                assert int(reply.headers["retry-after"]) >= 1
            # Each alone would wait for the namespace's timeout of ten seconds.
            assert time.monotonic() - began_s < 10
            assert not ready(service)
        assert until(lambda: service.client.get("/v1/a/id").status_code == 200, "an ID")
        ids.append(service.client.get("/v1/a/id").json()["id"])
        assert len(set(ids)) == 2


def test_a_pause_that_costs_no_request_is_no_alarm(start, store):
    service = start(CONFIG.format(store.port).replace("horizon=3s", "horizon=9s"))
    assert until(lambda: ready(service), "readiness")

    def left_s():
        for _ in range(20):  # many, so that the claims become long
            service.client.get("/v1/a/id")
        return service.client.get("/v1/a/status").json()["claim_left_s"]

    assert until(lambda: left_s() > 6, "a long claim")
    with store.refusing():
        store.cut()
        assert until(lambda: service.client.get("/v1/a/status").json()["trouble_s"], "trouble")
        seen = [(ready(service), left_s()) for _ in range(3)]
        assert all(green for green, rest_s in seen if rest_s > 9 / 4)
        assert until(lambda: not ready(service), "the end of the claim")
