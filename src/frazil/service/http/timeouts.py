"""Limits for HTTP clients: time, size, and how much of the service one of them can use.

A server that waits indefinitely for the rest of a request can be blocked by a thousand clients that
send a byte a minute. uvicorn limits only the idle time between two requests. So here each
connection has three deadlines, which ``sweep`` compares with the clock a few times a second: for a
request, from its first byte to the end of its head, and again to the end of its body; for a client
that does not read; and for an idle connection.

The parser does not limit the size of a head, nor of the chunk headers and trailers of a body, which
are stored like headers. Received data are split at each empty line, and at the end of each body of
known length, and counted before the parser sees them. So a head that is too long never becomes a
request, however it is split into packets.

uvicorn starts to handle every request of a packet, and a packet of 64 KiB holds two thousand, or
ten thousand chunks of a body. Here a connection has a few requests in progress, and the parser sees
a few requests, or a small part of a chunked body, in one iteration of the event loop; the rest of
the packet waits for its turn among all such connections, and nothing more is read. A request is
handled before its body is parsed, so that of a refused one costs nothing.

If there are too many connections, those that never sent a request make room first, then those that
are idle. If none is idle, a new client gets 503 and Retry-After, unless it asks for the health.

An ID that is ready needs no task: the reply to a plain request is written at once.

At shutdown, a client that connected or sent a request a moment ago may be about to send the next
one, which a closed connection would lose. So only connections that were idle for a while close.

The parser is httptools, in C. uvicorn's other parser, h11, makes a request three times as costly.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from frazil.service.acceptor import Turns
from frazil.service.http.asgi import BODY_MOST, PROBLEM, SAFE, too_large
from frazil.service.problems import Problem, busy

HEAD_MOST = 16_384  # the most bytes in a request line and headers
_END_OF_HEAD = b"\r\n\r\n"
_OVERHEAD_A_BYTE = 8  # a chunk of one byte has five bytes of overhead
_WAITING_MOST = 8  # requests of a connection that are queued
_PARSED_MOST = 16  # requests of a connection in one iteration of the event loop
_CHUNKED_MOST = 2_048  # bytes of a chunked body in one iteration
_UNREAD_MOST = 4_096  # bytes of replies that wait for the client
_GRACE_S = 2  # after the connection is made, its last request or its reply
_IDLE_S = 30

_ABSOLUTE = re.compile(rb"[a-zA-Z][^:/?#]*://([^/?#]*)(.*)")  # a target of RFC 9112, 3.2.2
_ONCE = frozenset(
    b"access-control-request-method authorization frazil-nonce host origin".split()
    + b"sec-fetch-dest sec-fetch-site".split()
)
_UNUSUAL = frozenset(
    b"connection content-length expect origin referer sec-fetch-site".split()
    + b"transfer-encoding upgrade".split()
)

Ready = Callable[[Mapping[bytes, bytes]], bytes | None]


def http_protocol(service: Any, timeout_s: float, connections: int) -> type[asyncio.Protocol]:
    """Return the protocol class for uvicorn's ``http=``.

    service: the App, whose ``at_once`` has the endpoints of ready IDs by target. A request that it
    must refuse has the ``problem`` in its scope. connections: the most of this process.
    """
    members = {
        "timeout_s": timeout_s,
        "connections_most": connections,
        "service": service,
        "at_once": service.at_once,
        "silent": {},
        "turns": Turns(),
    }
    return type("HttpProtocol", (_HttpProtocol,), members)


class _HttpProtocol(HttpToolsProtocol):
    timeout_s: float
    connections_most: int
    service: Any
    at_once: Mapping[bytes, Ready]
    turns: Turns
    silent: "dict[_HttpProtocol, None]"  # those that sent no request yet, the oldest first

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True  # the next byte belongs to a head, or starts one
        self._head_size = 0  # bytes received of the head
        self._body_left = 0  # bytes missing of a body of known length
        self._body_size = 0  # bytes received of a chunked body
        self._overhead = 0  # bytes of that body outside its chunks
        self._tail = b""  # the last bytes that the parser saw
        self._unparsed = b""
        self._continuing = False  # whether _parse waits for its turn
        self._ignoring = self._answered = self._ending = False
        self._seen_s = self.loop.time()
        self._request_due_s = self._seen_s + self.timeout_s
        self._write_due_s = inf

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(_UNREAD_MOST)
        self._crowded = len(self.connections) > self.connections_most and not self._make_room()
        self.silent[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unparsed = b""
        self.silent.pop(self, None)

    def _make_room(self) -> bool:
        """Close the oldest connection without a request, or an idle one; return whether."""
        found: Any = next(iter(self.silent), None)
        if found is None:
            idle_since_s = self._seen_s - _GRACE_S
            others: set[Any] = self.connections
            found = next((one for one in others if one.idle(idle_since_s)), None)
        if found is not None:
            self.silent.pop(found, None)
            found.transport.abort()
        return found is not None

    def idle(self, since_s: float) -> bool:
        """Return whether the connection is idle since then."""
        return self._seen_s <= since_s and self._idle and self._request_due_s == inf

    @property
    def _idle(self) -> bool:
        """Whether all parsed requests are answered."""
        return self.cycle is None or self.cycle.response_complete

    def shutdown(self) -> None:
        """Close the connection once it is idle and the client is not about to send a request."""
        self._ending = True
        if self._idle:
            self.sweep(self.loop.time())
        else:
            super().shutdown()

    def sweep(self, now_s: float) -> None:
        """Close the connection if a deadline has passed."""
        if now_s >= self._write_due_s:
            self.transport.abort()
        elif now_s >= self._request_due_s:
            self._on_request_timeout(now_s)
        elif self._ending and self._idle and now_s >= self._seen_s + _GRACE_S:
            super().shutdown()
        elif self.idle(now_s - _IDLE_S):
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        self._seen_s = self.loop.time()
        self._unparsed = self._unparsed + data if self._unparsed else data
        if not self._continuing:
            self._parse()

    def _parse(self) -> None:
        """Pass received data to the parser, as far as few requests wait."""
        self._continuing = False
        data, at, left = self._unparsed, 0, _PARSED_MOST
        while at < len(data) and not (self._ignoring or self.transport.is_closing()):
            in_body = not self._in_head
            if not left or len(self.pipeline) >= _WAITING_MOST or (in_body and self.pipeline):
                break
            end = self._end_of_piece(data, at)
            self._feed(data[at:end] if at or end < len(data) else data)
            at, left = end, left - 1 if self._in_head else 0
        else:
            at = len(data)
        self._tail = (self._tail + data[max(at - 3, 0) : at])[-3:]
        self._unparsed = data[at:]
        if self._unparsed:
            self.flow.pause_reading()
            if not left:
                self._parse_soon()
        elif self._idle or not (self._in_head or self.pipeline or len(self.cycle.body) > BODY_MOST):
            self.flow.resume_reading()

    def _parse_soon(self) -> None:
        if not self._continuing:
            self._continuing = True
            self.turns.add(self._parse)

    def on_response_complete(self) -> None:
        """Continue with the next request; ``sweep`` takes the place of uvicorn's timer."""
        super().on_response_complete()
        self._unset_keepalive_if_required()
        self._seen_s = self.loop.time()
        if self._unparsed:
            self.flow.pause_reading()
            self._parse_soon()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are ignored."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._body_left = self._body_size = self._overhead = 0
        self.silent.pop(self, None)
        if found := _ABSOLUTE.fullmatch(self.url):  # it has the host, and the header is ignored
            rest = [field for field in self.headers if field[0] != b"host"]
            self.headers[:] = [(b"host", found[1]), *rest]
            self.url = found[2] if found[2].startswith(b"/") else b"/" + found[2]
        fields = dict(self.headers)
        if self.url in self.at_once and self._write_ready(fields):
            return
        problem = self._refusal(fields)
        last = problem is not None or self._crowded or self.service.state.stopping
        if last:
            self.headers.append((b"connection", b"close"))  # uvicorn sends it back
        self.scope["problem"] = problem  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        self.cycle.keep_alive &= not last
        # At most one, or the parser refuses the request.
        self._body_left = int(fields.get(b"content-length", 0))

    def _write_ready(self, fields: Mapping[bytes, bytes]) -> bool:
        """Write the reply to a plain request for an ID that is ready; return whether."""
        if (
            self.parser.get_method() != b"GET"
            or self.parser.get_http_version() != "1.1"
            or len(fields) != len(self.headers)
            or b"host" not in fields
            or not _UNUSUAL.isdisjoint(fields)
            or not self._idle
            or self.flow.write_paused
            or self._crowded
            or not self.server_state.default_headers
        ):
            return False
        rest = self.at_once[self.url](fields)
        if rest is None:
            return False
        date = self.server_state.default_headers[0][1]
        self.transport.write(b"HTTP/1.1 200 OK\r\ndate: %b\r\n%b" % (date, rest))
        self.server_state.total_requests += 1
        self._answered = True
        return True

    def _refusal(self, fields: Mapping[bytes, bytes]) -> Problem | None:
        """Return why a head is refused that the parser accepts. RFC 9112, 3.2."""
        if self._crowded and self.url not in {b"/livez", b"/readyz"}:
            return busy()
        version = self.parser.get_http_version()
        if version not in {"1.0", "1.1"}:
            return Problem("http-version", "use HTTP/1.1")
        if b"host" not in fields and version == "1.1":
            return Problem("bad-request", "send the header Host")
        if len(fields) < len(self.headers):
            names = [name for name, _ in self.headers]
            for name in _ONCE:
                if names.count(name) > 1:
                    return Problem("bad-request", f"send the header {name.decode()} once")
        if int(fields.get(b"content-length", 0)) > BODY_MOST:
            return too_large()
        return None

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._body_size += len(body)
        self._body_left -= min(self._body_left, len(body))

    def on_message_complete(self) -> None:
        if self._answered:
            self._answered = False
        else:
            super().on_message_complete()
        self._in_head = True
        self._head_size = self._body_left = 0

    def _end_of_piece(self, data: bytes, at: int) -> int:
        """Return the end of the piece that starts at ``at``; no head ends before it."""
        if self._body_left:
            return min(at + self._body_left, len(data))
        if at == 0 and self._tail:
            found = (self._tail + data[:3]).find(_END_OF_HEAD)
            if found >= 0:
                return found + len(_END_OF_HEAD) - len(self._tail)
        most = len(data) if self._in_head else min(at + _CHUNKED_MOST, len(data))
        found = data.find(_END_OF_HEAD, max(at - 3, 0), most)
        return most if found < 0 else found + len(_END_OF_HEAD)

    def _feed(self, piece: bytes) -> None:
        """Pass a piece to the parser, unless the head becomes too long."""
        in_head, before = self._in_head, self._body_size
        if in_head:
            self._head_size += len(piece)
            if self._head_size > HEAD_MOST:
                self._end_with(Problem("head-too-large", f"send at most {HEAD_MOST} bytes of it"))
                return
        super().data_received(piece)
        if self._in_head and not self._head_size:  # a request has ended, and the next has not begun
            self._request_due_s = inf
            return
        # From the first byte of the head; again for the body.
        if self._request_due_s == inf or (in_head and not self._in_head):
            self._request_due_s = self._seen_s + self.timeout_s
        if not in_head:
            self._overhead += len(piece) - max(self._body_size - before, 0)
            if self._overhead > HEAD_MOST + _OVERHEAD_A_BYTE * self._body_size:
                self.transport.abort()

    def send_400_response(self, _msg: str) -> None:
        """Answer what the parser refuses."""
        self._end_with(Problem("bad-request", "this is no valid request; send HTTP/1.1"))

    def _end_with(self, problem: Problem) -> None:
        """Ignore further data; close with a problem, or after the replies to earlier requests."""
        self._ignoring = True
        if self._idle or self._reads_body:
            self._close_with(problem)
        else:
            self._request_due_s = inf
            self.cycle.keep_alive = False

    @property
    def _reads_body(self) -> bool:
        """Whether the only request waits for its body."""
        return not (self._in_head or self._idle or self.pipeline or self.cycle.response_started)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_due_s == inf:
            self._write_due_s = self.loop.time() + self.timeout_s

    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_due_s = inf

    def _on_request_timeout(self, now_s: float) -> None:
        answering = self._in_head and not self._idle
        if answering or self.flow.read_paused:  # earlier replies come first
            self._request_due_s = now_s + self.timeout_s
        elif self._in_head or self._reads_body:
            self._close_with(Problem("too-slow", f"send a request within {self.timeout_s:g} s"))
        else:
            self.transport.abort()

    def _close_with(self, problem: Problem) -> None:
        self._request_due_s = inf
        if not self.transport.is_closing():
            body = problem.body()
            fields = [*self.server_state.default_headers, *SAFE, (b"connection", b"close")]
            fields += [(b"content-type", PROBLEM), (b"content-length", b"%d" % len(body))]
            lines = b"".join(b"%b: %b\r\n" % field for field in fields)
            self.transport.write(b"%b%b\r\n%b" % (STATUS_LINE[problem.status], lines, body))
            self.transport.close()
