"""Clients that are slow on purpose: each is disconnected, and other clients are not affected."""

import contextlib
import time

import pytest

from tests.unit.service.conftest import Service, rest_of, token

TOKEN = "frazil_all"
CONFIG = f"""
[server]
client_timeout = "1s"
resp_port = 0
[namespaces.a]
registry = "memory:"
lead = "500ms"
{token("all", "issue", "admin", secret=TOKEN)}
"""
AUTH = b"Host: x\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n"
LONG_S = 12.0


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), CONFIG, token=TOKEN) as service:
        service.client.get("/v1/a/id")
        yield service


def trickle(wire, data, every_s=0.2):
    """Send a byte at a time until the service closes the connection; fail if it does not."""
    deadline = time.monotonic() + LONG_S
    with contextlib.suppress(ConnectionError):
        for i in range(len(data)):
            assert time.monotonic() < deadline
            wire.sendall(data[i : i + 1])
            time.sleep(every_s)
        raise AssertionError("all of it was taken")


def test_a_client_that_sends_nothing(service):
    with service.dialled() as wire:
        assert b"408" in rest_of(wire)


def test_an_endless_head(service):
    with service.dialled() as wire:
        trickle(wire, b"GET /v1/a/id HTTP/1.1\r\n" + b"X: y\r\n" * 100)
        assert b" 200 " not in rest_of(wire)


@pytest.mark.parametrize("path", [b"/v1/plan", b"/v1/a/ids?n=1", b"/v1/a/id"])
def test_an_endless_body(service, path):
    with service.dialled() as wire:
        wire.sendall(b"POST " + path + b" HTTP/1.1\r\nContent-Length: 60000\r\n" + AUTH + b"\r\n")
        with contextlib.suppress(AssertionError):
            trickle(wire, b"{" * 20)
        rest_of(wire)


def test_a_client_that_does_not_read(service):
    """A million IDs are 20 MB; the service makes what the sockets hold, and then no more."""
    with service.dialled() as wire:
        wire.sendall(
            b"POST /v1/a/ids?n=1000000 HTTP/1.1\r\nAccept: text/plain\r\n" + AUTH + b"\r\n"
        )
        time.sleep(3)
        assert len(rest_of(wire)) < 19_000_000


def test_many_of_them_block_no_other_client(service):
    with contextlib.ExitStack() as stack:
        wires = [stack.enter_context(service.dialled()) for _ in range(100)]
        for wire in wires:
            wire.sendall(b"GET /")
        assert service.client.get("/v1/a/id").status_code == 200
        assert all(b" 200 " not in rest_of(wire) for wire in wires)
        assert service.client.get("/v1/a/id").status_code == 200


def test_a_connection_may_be_idle_between_requests(service):
    with service.dialled() as wire:
        for _ in range(3):
            wire.sendall(b"GET /livez HTTP/1.1\r\n" + AUTH + b"\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                part = wire.recv(65536)
                assert part
                answer += part
            time.sleep(1.5)


def test_redis_a_client_without_its_token(service):
    with service.dialled(service.resp) as wire:
        trickle(wire, b"PING\r\n" * 100, 0.05)
        rest_of(wire)


def test_redis_a_client_that_does_not_read(service):
    with service.dialled(service.resp) as wire:
        wire.sendall(b"AUTH " + TOKEN.encode() + b"\r\n")
        wire.recv(100)
        with contextlib.suppress(OSError):
            wire.settimeout(3)
            for _ in range(400):
                wire.sendall(b"FRAZIL.IDS a 10000\r\n")
        time.sleep(3)
        wire.settimeout(LONG_S)
        assert len(rest_of(wire)) < 400 * 10_000 * 24
