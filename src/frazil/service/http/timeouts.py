"""Time and size limits for HTTP clients.

A server that waits indefinitely for the rest of a request can be blocked by a thousand clients that
send a byte a minute. uvicorn limits only the idle time between two requests. It does not limit a
connection without any request, an incomplete head or body, or a client that does not read.

So two timers run here. One runs from the connection, or from the first byte of a request, until its
head and then its body are complete. The other runs while the write buffer is full; it stops when
the client has read most of the buffer, so reading slowly does not help.

The parser does not limit the size of a head, nor of the chunk headers and trailers of a body, which
are stored like headers. Received data are split at each empty line, and at the end of each body of
known length, and counted before the parser sees them. So a head that is too long never becomes a
request, however it is split into packets.

At shutdown, a client that connected or sent a request a moment ago may be about to send the next
one, which a closed connection would lose. So a third timer closes only connections that were idle
for a while.

The parser is httptools, in C. uvicorn's other parser, h11, makes a request three times as costly.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from frazil.service.http.head_coalescing import CoalescingTransport

__all__ = ["HEAD_MOST", "http_protocol"]

HEAD_MOST = 16_384
"""The most bytes in a request line and headers."""

_END_OF_HEAD = b"\r\n\r\n"
_OVERHEAD_A_BYTE = 8  # a chunk of one byte has five bytes of overhead

_GRACE_S = 2  # after the connection is made, or its last request

_TIMEOUT_REPLY = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_LARGE_REPLY = (
    b"HTTP/1.1 431 Headers Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


def http_protocol(timeout_s: float) -> type[asyncio.Protocol]:
    """Return the protocol class for uvicorn's ``http=``."""
    return type("HttpProtocol", (_HttpProtocol,), {"timeout_s": timeout_s})


class _HttpProtocol(HttpToolsProtocol):
    timeout_s = 10.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True  # the next byte belongs to a head, or starts one
        self._head_size = 0  # bytes received of the head
        self._body_left = 0  # bytes missing of a body of known length
        self._body_size = 0  # bytes received of a chunked body
        self._overhead = 0  # bytes of that body outside its chunks
        self._tail = b""
        self._ignoring = False
        self._request_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._shutdown_timer: asyncio.TimerHandle | None = None
        self._received_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(
            cast("asyncio.Transport", CoalescingTransport(transport, self.loop))
        )
        self._received_s = self.loop.time()
        self._start_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_request_timer()
        self._stop_write_timer()
        if self._shutdown_timer is not None:
            self._shutdown_timer.cancel()

    def shutdown(self) -> None:
        """Close the connection once it is idle and the client is not about to send a request."""
        rest_s = self._received_s + _GRACE_S - self.loop.time()
        if self._idle and rest_s > 0:
            self._shutdown_timer = self.loop.call_later(rest_s, self.shutdown)
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        self._received_s = self.loop.time()
        at = 0
        while at < len(data) and not (self._ignoring or self.transport.is_closing()):
            end = self._end_of_piece(data, at)
            self._feed(data[at:end])
            at = end
        self._tail = (self._tail + data[-3:])[-3:]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; trailers are ignored."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Handle the end of a head."""
        super().on_headers_complete()
        self._in_head = False
        self._body_size = self._overhead = 0
        lengths = [int(value) for name, value in self.headers if name == b"content-length"]
        self._body_left = sum(lengths)  # at most one, or the parser refuses the request

    def on_body(self, body: bytes) -> None:
        """Handle a part of a body."""
        super().on_body(body)
        self._body_size += len(body)
        self._body_left -= min(self._body_left, len(body))

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        super().on_message_complete()
        self._in_head = True
        self._head_size = self._body_left = 0

    def _end_of_piece(self, data: bytes, at: int) -> int:
        """Return the end of the piece that starts at ``at``; no head ends before it."""
        if self._body_left:
            return min(at + self._body_left, len(data))
        found = (self._tail + data[:3]).find(_END_OF_HEAD) if at == 0 else -1
        if found >= 0:
            return found + len(_END_OF_HEAD) - len(self._tail)
        found = data.find(_END_OF_HEAD, max(at - 3, 0))
        return len(data) if found < 0 else found + len(_END_OF_HEAD)

    def _feed(self, piece: bytes) -> None:
        """Pass a piece to the parser, unless the head becomes too long."""
        in_head, before = self._in_head, self._body_size
        if in_head:
            self._head_size += len(piece)
            if self._head_size > HEAD_MOST:
                self._refuse_head()
                return
        super().data_received(piece)
        if self._in_head and not self._head_size:  # a request has ended, and the next has not begun
            self._stop_request_timer()
            return
        if in_head and not self._in_head:  # restart the timer for the body
            self._stop_request_timer()
        self._start_request_timer()
        if not in_head:
            self._overhead += len(piece) - max(self._body_size - before, 0)
            if self._overhead > HEAD_MOST + _OVERHEAD_A_BYTE * self._body_size:
                self.transport.abort()

    def _refuse_head(self) -> None:
        """Ignore further data because a head is too long; close after pending replies."""
        self._ignoring = True
        if self._idle:
            self._close_with(_TOO_LARGE_REPLY)
        else:
            self._stop_request_timer()
            self.cycle.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_write_timer()

    @property
    def _idle(self) -> bool:
        """Whether all received requests are answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_request_timer(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(self.timeout_s, self._on_request_timeout)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _on_request_timeout(self) -> None:
        self._request_timer = None
        answering = self._in_head and not self._idle
        if answering or self.flow.read_paused:  # earlier replies come first
            self._start_request_timer()
        elif self._in_head:
            self._close_with(_TIMEOUT_REPLY)
        else:
            self.transport.abort()

    def _close_with(self, words: bytes) -> None:
        self._stop_request_timer()
        if not self.transport.is_closing():
            self.transport.write(words)
            self.transport.close()
