"""What one client can use up: a little memory, while the other clients are answered."""

import contextlib
import random
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.tools.beside import beside
from tests.unit.service.conftest import rest_of, token

CONFIG = '[namespaces.a]\nregistry = "memory:"\nlead = "900ms"\n'
HOST = b" HTTP/1.1\r\nHost: localhost\r\n"
LIVE = b"GET /livez" + HOST + b"\r\n"
ID = b"GET /v1/a/id" + HOST + b"\r\n"
READY = b"GET /readyz" + HOST + b"\r\n"


@pytest.mark.parametrize(
    ("request_", "reading"),
    [(ID, True), (READY, True), (ID, False), (LIVE, False)],
    ids=["id, reading", "readyz, reading", "id", "livez"],
)
def test_pipelined_requests(start, request_, reading):
    """An answer that is ready at once, as those of ID and LIVE, and one that has to be awaited."""
    service = start(CONFIG)
    service.client.get("/v1/a/id")
    before = service.resident
    with service.dialled() as wire:
        wire.settimeout(0.05)

        def attack():
            with contextlib.suppress(TimeoutError):
                wire.sendall(request_ * 2_000)
            with contextlib.suppress(TimeoutError):
                while reading and wire.recv(1 << 20):
                    pass

        with beside(attack):
            for _ in range(200):
                assert service.client.get("/v1/a/id").status_code == 200
    assert service.resident < 1.5 * before


def test_every_pipelined_request_is_answered_in_order(start):
    service = start(CONFIG)
    last = LIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    reply = service.said((ID + READY + LIVE) * 500 + last)
    kinds = [
        b"id" if b'"id"' in one else b"live" if b"live" in one else b"ready"
        for one in reply.split(b"HTTP/1.1 200 OK")[1:]
    ]
    assert kinds == [b"id", b"ready", b"live"] * 500 + [b"live"]


def test_replies_that_are_not_read(start):
    service = start(CONFIG + token("t"), token="t")
    service.client.post("/v1/a/ids?n=100000")
    before = service.resident
    head = HOST + b"Authorization: Bearer t\r\n"
    with contextlib.ExitStack() as stack:
        for accept in (b"application/json", b"application/octet-stream") * 75:
            wire = stack.enter_context(service.dialled())
            wire.sendall(b"POST /v1/a/ids?n=1000000" + head + b"Accept: " + accept + b"\r\n\r\n")
        for _ in range(50):
            assert service.client.get("/v1/a/id").status_code == 200
        time.sleep(1)
        assert service.resident < 1.5 * before


@pytest.mark.parametrize("first", [b"", LIVE], ids=["silent", "idle"])
def test_idle_connections_make_room(start, first):
    service = start(CONFIG, before=["prlimit", "--nofile=200:200"])
    with contextlib.ExitStack() as stack:
        wires = []
        for _ in range(150):  # there are descriptors for 100
            wire = stack.enter_context(service.dialled())
            wire.sendall(first)
            assert not first or b" 200 " in wire.recv(1000)
            wires.append(wire)
            if len(wires) == 80:
                time.sleep(2.5)  # from now on the first ones are idle
        for _ in range(20):
            with service.dialled() as wire:
                wire.sendall(ID)
                assert b" 200 " in wire.recv(1000)


def test_a_busy_service_refuses_the_newcomer_and_shows_that_it_lives(start):
    service = start(CONFIG, before=["prlimit", "--nofile=130:130"])
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(service.dialled()) for _ in range(30)]

        def attack():
            for wire in wires:
                wire.sendall(ID)
                assert b" 200 " in wire.recv(1000)

        attack()
        with beside(attack):
            found = {}
            for request in (ID, LIVE, READY):
                with service.dialled() as wire:
                    wire.sendall(request)
                    found[request] = rest_of(wire)
        assert found[ID].startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in found[ID]
        assert b"urn:frazil:problem:busy" in found[ID]
        assert found[LIVE].startswith(b"HTTP/1.1 200 ")
        assert found[READY].startswith(b"HTTP/1.1 200 ")


def test_no_descriptors_and_a_short_log(start):
    """More connections wait than the process may open; each of their requests is malformed."""
    service = start(CONFIG, "--resp", "0", before=["prlimit", "--nofile=110:110"])
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                wire = stack.enter_context(service.dialled())
                with contextlib.suppress(OSError):
                    wire.sendall(b"\0nonsense\r\n\r\n")
    assert service.client.get("/livez").status_code == 200
    service.stop()
    assert len(service.lines) < 12
    assert not service.other_lines


MANY = 60


@pytest.mark.long  # eight seconds of a processor
def test_many_searches_do_not_make_the_service_unready(start):
    searched = start(CONFIG + '[namespaces.b]\nregistry = "memory:b"\n')
    dice = random.Random(1)  # numbers that could be IDs of each scheme, and are not
    text = " ".join(f"{dice.randrange(10**8):08}" for _ in range(440))

    def find(_):
        with httpx.Client(base_url=searched.url, timeout=60) as client:
            return client.post("/v1/a/find", json={"text": text})

    with ThreadPoolExecutor(MANY) as crowd:
        replies = [crowd.submit(find, number) for number in range(MANY)]
        asked = 0
        while asked < 3 or not all(reply.done() for reply in replies):
            ready = searched.client.get("/readyz", timeout=60)
            assert (ready.status_code, ready.json()["namespaces"]["a"]) == (200, "ready")
            assert searched.client.get("/v1/b/claims", timeout=60).status_code == 200
            asked += 1
    found = [reply.result() for reply in replies]
    assert {one.status_code for one in found} == {200, 503}
    for one in found:
        if one.status_code == 503:
            assert one.headers["retry-after"] == "1"
            assert one.json()["type"] == "urn:frazil:problem:busy"
            assert one.json()["namespace"] == "a"
    assert find(0).status_code == 200  # there is room again
