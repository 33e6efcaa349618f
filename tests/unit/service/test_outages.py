"""A store that goes away: which calls fail and when, and what readiness says."""

import time

import pytest

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
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


def test_a_service_whose_store_grants_nothing_says_why(start, tmp_path):
    """By the rule of every generator, without the name of a host."""
    layout = "sign:1=0 time:41 node:1 sequence:21 @1ms since 2025-01-01T00:00:00Z"
    url = f"sqlite:///{tmp_path}/claims.db?horizon=10min"
    frazil.init(url, layout, namespace="a", new=True)
    registry = connect(url, "a", frazil.scheme(layout))
    for _ in range(2):
        registry.grant(ask_of(LastSeen()), 10**9)
    service = start(f'[namespaces.a]\nscheme = "{layout}"\nregistry = "{url}"\ntimeout = "1s"\n')
    why = "no ID can be made now: all 2 node numbers are in use"
    assert until(lambda: why in service.client.get("/readyz").text, "the reason")


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
