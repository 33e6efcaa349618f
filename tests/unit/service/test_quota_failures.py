"""Quotas of failed calls: a call without an ID uses up nothing."""

import time

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


def config_of(url, most, more):
    head = f'[server]\nresp_port = 0\n[namespaces.n]\nregistry = "{url}"\n{more}\n'
    return head + token("n", more=f"ids_per_minute = {most}")


def test_commands_that_fail_are_not_charged(tmp_path):
    with Server() as store:
        config = config_of(f"{store.url}?horizon=1s", MOST, 'timeout = "200ms"')
        with Service(tmp_path, config, token="n") as service:
            store.freeze()
            time.sleep(2)  # a claim ends
            with redis.Redis(port=service.resp, password="n", retry=None) as client:
                for words in ("INCR n", "FRAZIL.ID n", "FRAZIL.IDS n 60", "FRAZIL.IDS n 60"):
                    with pytest.raises(redis.ResponseError, match="No ID is available now"):
                        client.execute_command(*words.split())
            store.thaw()

            def answer():
                reply = service.client.post(f"/v1/n/ids?n={MOST}")
                return None if reply.status_code == 503 else reply

            reply = until(answer, "an answer from the registry")
            assert (reply.status_code, len(reply.json().get("ids", ()))) == (200, MOST)


def test_an_incomplete_reply_is_charged_for_its_ids(tmp_path):
    """The layout is exhausted after 32,768 IDs, in the middle of the reply.

    Each block of 4,096 is another claim, for which a call has the timeout of the namespace.
    """
    url, layout = f"sqlite:///{tmp_path}/claims.db", "run:3 sequence:12"
    connect(url, "n", frazil.scheme(layout)).initialise(ask_of(LastSeen()), 0)
    config = config_of(url, 50_000, f'timeout = "60s"\nscheme = "{layout}"')
    with Service(tmp_path, config, token="n") as service:
        with pytest.raises(httpx.RemoteProtocolError):
            service.client.post("/v1/n/ids?n=50000")
        assert service.client.post("/v1/n/ids?n=50000").status_code == 429
        assert service.client.post("/v1/n/ids?n=17000").status_code == 503
