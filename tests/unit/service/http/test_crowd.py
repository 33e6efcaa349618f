"""Many searches at once: each is answered or refused soon, and other requests are not delayed."""

import random
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.unit.service.conftest import Service

MANY = 60
CONFIG = """
[namespaces.a]
registry = "memory:"
[namespaces.b]
registry = "memory:b"
"""


@pytest.fixture
def service(tmp_path):
    with Service(tmp_path, CONFIG) as service:
        yield service


def slow_text():
    """Return numbers that could be IDs and are not: each is checked against every scheme."""
    dice = random.Random(1)
    return " ".join(f"{dice.randrange(10**8):08}" for _ in range(440))


@pytest.mark.long  # eight seconds of a processor
def test_many_searches_do_not_make_the_service_unready(service):
    text = slow_text()

    def find(_):
        with httpx.Client(base_url=service.url, timeout=60) as client:
            return client.post("/v1/a/find", json={"text": text})

    with ThreadPoolExecutor(MANY) as crowd:
        replies = [crowd.submit(find, number) for number in range(MANY)]
        asked = 0
        while asked < 3 or not all(reply.done() for reply in replies):
            ready = service.client.get("/readyz")
            assert (ready.status_code, ready.json()["namespaces"]["a"]) == (200, "ready")
            assert service.client.get("/v1/b/claims").status_code == 200
            asked += 1
    found = [reply.result() for reply in replies]
    statuses = [one.status_code for one in found]
    assert set(statuses) == {200, 503}
    for one in found:
        if one.status_code == 503:
            assert one.headers["retry-after"] == "1"
            assert one.json()["type"] == "urn:frazil:problem:busy"
            assert one.json()["namespace"] == "a"
    assert find(0).status_code == 200  # there is room again
