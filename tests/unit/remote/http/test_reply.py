"""The meaning of replies, from fake services."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import frazil
from frazil.errors import ConfigError, PoolExhausted, RegistryUnavailable, Stopped
from tests.needs import needs

needs("aiohttp", "the client of a service")


class Impostor(BaseHTTPRequestHandler):
    """Sends the replies of its server, and counts the requests."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.asked += 1
        status, headers, body = self.server.answers[min(self.server.asked, self.server.last) - 1]
        self.send_response(status)
        nonce = {"Frazil-Nonce": self.headers["Frazil-Nonce"]}
        for name, value in (nonce | headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words):
        pass


@contextlib.contextmanager
def impostor(*answers) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Impostor) as server:
        server.answers, server.last, server.asked = answers, len(answers), 0
        job = threading.Thread(target=server.serve_forever, args=(0.01,))
        job.start()
        try:
            yield server
        finally:
            server.shutdown()
            job.join()


SCHEME = frazil.scheme()
REAL = {
    "Frazil-Namespace": "a",
    "Frazil-Scheme": "icicle",
    "Frazil-Fingerprint": SCHEME.fingerprint,
    "Content-Type": "application/octet-stream",
}
ID = (12345 << 22).to_bytes(8, "big")


def problem(kind):
    return b'{"type": "urn:frazil:problem:%b", "title": "T", "detail": "D"}' % kind.encode()


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        ((200, {}, ID), ConfigError, "of a frazil service"),
        ((200, {**REAL, "Content-Type": "text/html"}, ID), ConfigError, "of a frazil service"),
        ((200, {**REAL, "Frazil-Namespace": "b"}, ID), ConfigError, "of a frazil service"),
        ((200, {**REAL, "Frazil-Scheme": "tsid"}, ID), ConfigError, "scheme='tsid'"),
        ((200, {**REAL, "Frazil-Fingerprint": "0"}, ID), ConfigError, "another 'icicle'"),
        ((200, {**REAL, "Frazil-Nonce": "0"}, ID), RegistryUnavailable, "another request"),
        ((200, REAL, ID * 2), ConfigError, "more than"),
        ((200, REAL, ID[1:]), RegistryUnavailable, "incomplete"),
        ((204, REAL, b""), ConfigError, "204"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), ConfigError, "302"),
        ((400, {}, problem("bad-request")), ConfigError, "T; D"),
        ((403, {}, problem("forbidden")), ConfigError, "403"),
        ((404, {}, b"<html>"), ConfigError, "path"),
        ((429, {"Retry-After": "60"}, problem("over-quota")), PoolExhausted, "429"),
        ((500, {}, problem("misconfigured")), ConfigError, "500"),
        ((500, {}, problem("internal")), RegistryUnavailable, "500"),
        ((502, {}, b"\xff[" * 9000), RegistryUnavailable, "502"),
        ((503, {}, problem("stopped")), Stopped, "503"),
        ((503, {"Retry-After": "1"}, problem("try-later")), PoolExhausted, "503"),
        ((503, {"Retry-After": "soon"}, b""), RegistryUnavailable, "503"),
        ((400, {}, b"[" * 100_000), ConfigError, "more than"),
    ],
)
def test_the_meaning_of_a_reply(answer, error, told):
    timeout = 30 if error in (ConfigError, Stopped) else 0.4  # those come without another try
    with impostor(answer) as server:
        ids = frazil.open(f"http://127.0.0.1:{server.server_port}/a", timeout=timeout)
        with pytest.raises(error, match=told) as caught:
            ids()
        asked = server.asked
        ids.close()
    assert type(caught.value) is error
    if not issubclass(error, RegistryUnavailable):
        assert asked == 1
    elif "Retry-After" not in answer[1] and b"internal" not in answer[2]:
        assert asked > 1


def test_a_temporary_error_is_retried():
    busy = (503, {}, problem("try-later"))
    with impostor(busy, (502, {}, b""), (200, REAL, ID)) as server:
        with frazil.open(f"http://127.0.0.1:{server.server_port}/a") as ids:
            assert ids() == 12345 << 22
        assert server.asked == 3
