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
    why = red.json()["namespaces"]["a"]
    assert "first claim is not there yet" in why or "nothing was ever granted" in why
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
            assert time.monotonic() - began_s < 60
            red = service.client.get("/readyz")
            assert red.status_code == 503
            assert "0.0 s of IDs are left" in red.json()["namespaces"]["a"]
        assert until(lambda: service.client.get("/v1/a/id").status_code == 200, "an ID")
        ids.append(service.client.get("/v1/a/id").json()["id"])
        assert len(set(ids)) == 2


def test_a_service_without_a_claim_is_ready_again_after_an_outage(start, store):
    """No call asks for a claim: a balancer sends none to a service that is not ready."""
    service = start(CONFIG.format(store.port) + 'keep = "0s"\n')
    assert until(lambda: ready(service), "readiness")
    assert service.client.get("/v1/a/id").status_code == 200
    with store.refusing():
        store.cut()
        why = "the store does not answer for"
        assert until(lambda: why in service.client.get("/readyz").text, "the outage")
        time.sleep(3)  # the idle claim cannot be given back
    assert until(lambda: ready(service), "readiness")
    assert service.client.get("/v1/a/status").json()["trouble_s"] == 0
