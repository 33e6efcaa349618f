"""The size limit of a head, to the byte, however it is split and whatever precedes it."""

import contextlib
import socket
import time
from itertools import pairwise

import pytest

from frazil.service.http.timeouts import HEAD_MOST
from tests.unit.service.conftest import Service

CONFIG = """
[server]
client_timeout = "20s"
[namespaces.a]
registry = "memory:"
lead = "500ms"
[namespaces.slow]
scheme = "js53"
registry = "memory:"
"""
PATIENCE_S = 30.0
PLAN = b'{"layout": "tsid"}'


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), CONFIG) as service:
        service.client.get("/v1/a/id")
        yield service


def head(size, *, last=True):
    """Return a request of this size; ``last`` adds "Connection: close"."""
    begin = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"Connection: close\r\n" * last
    begin += b"X-Long: "
    return begin + b"x" * (size - len(begin) - 4) + b"\r\n\r\n"


def said(service, *pieces):
    """Send pieces with pauses, and return all replies."""
    port = int(service.url.rpartition(":")[2])
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                wire.sendall(piece)
                time.sleep(0.02)
            while part := wire.recv(65536):
                answer += part
    return answer


def cut(data, *places):
    ends = [0, *places, len(data)]
    return [data[a:b] for a, b in pairwise(ends)]


CUTS = {
    "whole": (),
    "in two": (8_000,),
    "in many": range(1_000, 16_000, 1_000),
    "before its last byte": (HEAD_MOST - 1,),
    "inside its end": (HEAD_MOST - 3, HEAD_MOST - 2),
    "after its first line": (21,),
}


@pytest.mark.parametrize("places", CUTS.values(), ids=CUTS)
def test_a_head_of_the_limit_is_answered_and_one_of_a_byte_more_is_not(service, places):
    assert said(service, *cut(head(HEAD_MOST), *places)).startswith(b"HTTP/1.1 200")
    assert said(service, *cut(head(HEAD_MOST + 1), *places)).startswith(b"HTTP/1.1 431")


def test_a_head_of_many_times_the_limit_in_one_piece(service):
    assert said(service, head(60_000)).startswith(b"HTTP/1.1 431")


BEFORE = {
    "a request": b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a body": b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(PLAN), PLAN),
    "a body with empty lines": b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(PLAN) + 80, PLAN + b"\r\n\r\n" * 20),
    "chunks": b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"1\r\n%c\r\n" % byte for byte in PLAN)
    + b"0\r\n\r\n",
    "a body that nobody reads": b"POST /v1/a/id HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 5000\r\n\r\n" + b"\r\n" * 2500,
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("apart", [False, True], ids=["one piece", "two pieces"])
def test_a_head_that_follows_another_request_is_counted_from_its_own_start(service, before, apart):
    """If both arrive at once, the reply to the first request may be the last one."""
    for size, wanted in [(HEAD_MOST, b"HTTP/1.1 200"), (HEAD_MOST + 1, None)]:
        second = head(size)
        pieces = (before, second) if apart else (before + second,)
        answer = said(service, *pieces)
        assert answer.startswith(b"HTTP/1.1 ")
        answers = answer.count(b"HTTP/1.1 ")
        assert not answer.startswith(b"HTTP/1.1 431")
        if wanted:
            assert answers == 2
            assert b'{"live":true}' in answer
        else:
            assert b"HTTP/1.1 431" in answer or answers == 1
            assert answer.count(b'"live":true') == before.count(b"/livez")


def test_a_long_head_behind_a_long_answer_does_not_spoil_it(service):
    many = b"POST /v1/slow/ids?n=2500 HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"
    answer = said(service, many, head(HEAD_MOST + 1))
    assert answer.startswith(b"HTTP/1.1 200")
    lines = answer.partition(b"\r\n\r\n")[2].split()
    ids = {line for line in lines if line.isdigit() and len(line) > 10}
    assert len(ids) == 2_500
    assert b"live" not in answer


def trail(wire):
    for _ in range(60_000):  # a minute
        wire.sendall(b"X: " + b"y" * 996 + b"\r\n")
        time.sleep(0.001)


def test_endless_trailers_are_not_stored(service):
    begin = b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    port = int(service.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as wire:
        wire.sendall(begin)
        with pytest.raises(ConnectionError):
            trail(wire)
    assert service.client.get("/livez").status_code == 200


def test_small_chunks_are_not_trailers(service):
    text = b'{"layout": "%b"}' % (b"x" * 20_000)
    begin = b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    request = begin + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    assert said(service, request).startswith(b"HTTP/1.1 400")
