"""Quotas of failed calls: a call without an ID uses up nothing."""

import time
from itertools import count

import httpx
import pytest
import redis

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from tests.servers.redis import Server, until
from tests.unit.service.conftest import Service, token

MOST = 100
HORIZON_S = 1
PLACES = [f"place{i}" for i in range(8)]


def config_of(name, url, most=MOST):
    head = f'[namespaces.{name}]\nregistry = "{url}"\ntimeout = "200ms"\n'
    return head + token(name, places=[name], more=f"ids_per_minute = {most}")


@pytest.fixture(scope="module")
def store():
    with Server() as server:
        yield server


@pytest.fixture(scope="module")
def service(store, tmp_path_factory):
    url = f"{store.url}?horizon=1s"
    tables = [config_of(name, url) for name in PLACES]
    config = "[server]\nresp_port = 0\n" + "".join(tables)
    with Service(tmp_path_factory.mktemp("service"), config) as service:
        yield service


@pytest.fixture(scope="module")
def numbers():
    return count()


@pytest.fixture
def place(service, numbers):
    """A client for an unused namespace, with a token that has its whole quota."""
    name = PLACES[next(numbers)]
    headers = {"Authorization": f"Bearer {name}"}
    with httpx.Client(base_url=f"{service.url}/v1/{name}", headers=headers, timeout=30) as client:
        client.name = name
        yield client


@pytest.fixture
def away(store):
    """A registry that does not answer until the test releases it, and no claims."""
    store.freeze()
    time.sleep(2 * HORIZON_S)
    yield
    store.thaw()


def has_all(place, store):
    """Return whether the token has its whole quota, once the registry answers."""
    store.thaw()

    def answer():
        reply = place.post(f"/ids?n={MOST}")
        return None if reply.status_code == 503 else reply

    reply = until(answer, "an answer from the registry")
    return (reply.status_code, len(reply.json().get("ids", ()))) == (200, MOST)


def test_commands_that_fail_are_not_charged(service, place, store, away):
    with redis.Redis(port=service.resp, password=place.name, retry=None) as client:
        for command in (["INCR"], ["FRAZIL.ID"], ["FRAZIL.IDS", 60], ["FRAZIL.IDS", 60]):
            with pytest.raises(redis.ResponseError, match="No ID is available now"):
                client.execute_command(command[0], place.name, *command[1:])
    assert has_all(place, store)


def test_an_incomplete_reply_is_charged_for_its_ids(tmp_path):
    """The layout is exhausted after 32,768 IDs, in the middle of the reply.

    Each block of 4,096 is another claim, for which a call has the timeout of the namespace.
    """
    url, layout = f"sqlite:///{tmp_path}/claims.db", "run:3 sequence:12"
    connect(url, "n", frazil.scheme(layout)).initialise(ask_of(LastSeen()), 0)
    quota = config_of("n", url, 50_000)
    quota = quota.replace('timeout = "200ms"', 'timeout = "60s"')
    config = quota.replace("[namespaces.n]", f'[namespaces.n]\nscheme = "{layout}"')
    with Service(tmp_path, config, token="n") as service:
        with pytest.raises(httpx.RemoteProtocolError):
            service.client.post("/v1/n/ids?n=50000")
        assert service.client.post("/v1/n/ids?n=50000").status_code == 429
        assert service.client.post("/v1/n/ids?n=17000").status_code == 503
