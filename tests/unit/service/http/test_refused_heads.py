"""Heads that are refused: what HTTP does not allow, another host, and those over the limit."""

import contextlib
import json
import re
import time
from itertools import pairwise

import pytest

from frazil.service.http.timeouts import HEAD_MOST
from tests.unit.service.conftest import Service, token

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
HOST = b"Host: localhost\r\n"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("guarded"), CONFIG + token("of-a")) as service:
        yield service


def answer(service, request):
    """Return the status and the body of the reply to a request, and whether the connection ends."""
    with service.dialled() as wire:
        with contextlib.suppress(BrokenPipeError):  # refused before all was sent
            wire.sendall(request)
        reply = wire.recv(65_536)
        head, _, body = reply.partition(b"\r\n\r\n")
        ends = b"connection: close" in head
        length = re.search(rb"content-length: (\d+)", head)
        due = 0 if length is None or request.startswith(b"HEAD") else int(length[1])
        with contextlib.suppress(ConnectionResetError):  # more was sent than is read
            while (ends or len(body) < due) and (part := wire.recv(65_536)):
                body += part
    return int(head.split()[1]), body, ends


@pytest.mark.parametrize("path", [b"/v1/a/id", b"/livez"])
@pytest.mark.parametrize(
    ("line", "fields", "status"),
    [
        (b"HTTP/1.1", HOST, 200),
        (b"HTTP/1.0", b"", 200),
        (b"HTTP/1.1", b"", 400),
        (b"HTTP/1.1", HOST + HOST, 400),
        (b"HTTP/1.1", HOST + b"Host: another\r\n", 400),
        (b"HTTP/1.1", HOST + b"Authorization: Bearer a\r\nauthorization: Bearer b\r\n", 400),
        (b"HTTP/1.1", HOST + b"Frazil-Nonce: a\r\nFrazil-Nonce: b\r\n", 400),
        (b"HTTP/1.1", HOST + b"Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n", 400),
        (b"HTTP/1.1", HOST + b"Content-Length: 65536000\r\n", 413),
        (b"HTTP/1.1", HOST + b"Content-Length: x\r\n", 400),
        (b"HTTP/1.1", HOST + b"Content-Length: -1\r\n", 400),
        (b"HTTP/1.1", HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n", 400),
        (b"HTTP/1.1", HOST + b"X: %b\r\n" % (b"x" * 20_000), 431),
        (b"HTTP/2.0", HOST, 505),
        (b"HTTP/0.9", HOST, 505),
    ],
)
def test_heads(service, path, line, fields, status):
    found, body, ends = answer(service, b"GET " + path + b" " + line + b"\r\n" + fields + b"\r\n")
    assert found == status
    if status != 200:
        assert ends
        problem = json.loads(body)
        assert problem["type"].startswith("urn:frazil:problem:")
        assert problem["status"] == status


@pytest.mark.parametrize(
    ("line", "status"),
    [(b"GET /livez", 505), (b"GET /" + b"a" * 900_000, 431), (b"\0" * 1000, 400)],
    ids=["no version", "long", "zeros"],
)
def test_lines(service, line, status):
    assert answer(service, line + b"\r\n\r\n")[0] == status


def test_with_tokens_a_target_may_have_any_host(guarded):
    """It is that of a proxy."""
    request = b"GET http://ids.example/v1/a/id HTTP/1.1\r\nAuthorization: Bearer of-a\r\n"
    assert answer(guarded, request + HOST + b"\r\n")[0] == 200


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET http://localhost", 200),
        (b"GET http://localhost?x", 200),
        (b"GET http://evil.example", 421),
        (b"GET http://127.0.0.1:80/v1/a/id", 200),  # RFC 9112, 3.2.2: the header is ignored then
        (b"GET http://evil.example/v1/a/id", 421),
        (b"GET ftp://evil.example/livez", 421),
        (b"HEAD *", 404),
        (b"OPTIONS *", 404),
        (b"OPTIONS http://localhost", 405),
        (b"CONNECT localhost:80", 400),
    ],
)
def test_targets_of_several_forms(service, line, status):
    assert answer(service, line + b" HTTP/1.1\r\n" + HOST + b"\r\n")[0] == status


def test_several_lines_are_one_list(service):
    request = b"GET /v1/a/id HTTP/1.1\r\nAccept: text/html\r\nAccept: text/plain\r\n"
    status, body, _ = answer(service, request + HOST + b"\r\n")
    assert (status, body.strip().isdigit()) == (200, True)


@pytest.mark.parametrize("path", [b"/v1/plan", b"/v1/a/ids?n=1", b"/v1/a/id"])
@pytest.mark.parametrize(
    "more", [b"Content-Length: 9\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"]
)
def test_no_body_is_read_without_a_token(guarded, path, more):
    """The connection ends, with what the body has, and the answer comes before it."""
    request = b"POST " + path + b" HTTP/1.1\r\n" + HOST + more
    for body in (b"", b"zz\r\n"):
        status, _, ends = answer(guarded, request + body)
        assert (status, ends) == (405 if path.endswith(b"/id") else 401, path[-1:] != b"d")


BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"user-agent": BROWSER, "accept": "image/avif,image/webp,*/*;q=0.8"}, 403),
        ({"user-agent": BROWSER, "referer": "http://evil.example/page"}, 403),
        ({"user-agent": BROWSER, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        (
            {
                "user-agent": BROWSER,
                "sec-fetch-site": "cross-site",
                "sec-fetch-mode": "navigate",
                "sec-fetch-dest": "iframe",
            },
            403,
        ),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "{url}", "sec-fetch-site": "same-origin"}, 200),
        ({"user-agent": BROWSER, "referer": "{url}/"}, 200),
        ({"user-agent": BROWSER, "sec-fetch-site": "same-origin"}, 200),
        ({"user-agent": BROWSER, "sec-fetch-site": "none", "sec-fetch-dest": "document"}, 200),
    ],
)
def test_a_page_uses_up_no_ids_of_an_open_service(service, headers, status):
    """A browser omits Sec-Fetch for http on a network, and a page can omit the referrer."""
    sent = {name: value.format(url=service.url) for name, value in headers.items()}
    assert service.client.get("/v1/a/id", headers=sent).status_code == status
    assert service.client.post("/v1/a/ids?n=5", headers=sent).status_code == status
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    link |= {"sec-fetch-dest": "document", "user-agent": BROWSER}
    for path in ("/", "/livez"):
        assert service.client.get(path, headers=link).status_code == 200


PLAN = b'{"layout": "tsid"}'


def head(size, *, last=True):
    """Return a request of this size; ``last`` adds "Connection: close"."""
    begin = b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n" * last
    begin += b"X-Long: "
    return begin + b"x" * (size - len(begin) - 4) + b"\r\n\r\n"


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
    assert service.said(*cut(head(HEAD_MOST), *places)).startswith(b"HTTP/1.1 200")
    assert service.said(*cut(head(HEAD_MOST + 1), *places)).startswith(b"HTTP/1.1 431")


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
        answer = service.said(*pieces)
        first, *others = answer.split(b"HTTP/1.1 ")[1:]
        assert not first.startswith(b"431")
        if wanted:
            assert len(others) == 1
            assert b'{"live":true}' in others[0]
        else:
            assert all(other.startswith(b"431") for other in others)
            assert answer.count(b'"live":true') == before.count(b"/livez")


def test_a_long_head_behind_a_long_answer_does_not_spoil_it(service):
    many = b"POST /v1/slow/ids?n=2500 HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n"
    answer = service.said(many, head(HEAD_MOST + 1))
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
    with service.dialled() as wire:
        wire.sendall(begin)
        with pytest.raises(ConnectionError):
            trail(wire)
    assert service.client.get("/livez").status_code == 200


def test_small_chunks_are_not_trailers(service):
    text = b'{"layout": "%b"}' % (b"x" * 20_000)
    begin = b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    request = begin + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    assert service.said(request).startswith(b"HTTP/1.1 400")
