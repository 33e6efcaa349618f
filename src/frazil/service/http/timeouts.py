"""Patience with HTTP clients: a request comes soon, and its answer is taken soon, or it is the end.

A server that waits for the rest of a request as long as it takes is brought down by a thousand
clients who send a byte a minute: each holds one of the connections there are. uvicorn limits how
long a connection may rest between two requests, and nothing else: neither one on which nothing ever
comes, nor a head or a body that never ends, nor a client who does not read.

So two clocks run here. One runs from the connection, or from the first byte of a request, until
that request is all there, head and body. The other runs while the socket is full: it stops when the
client has taken most of what waits, so a trickle does not help.

A head is also limited in bytes, which the parser does not do, and so is what stands around the
chunks of a body, because its trailers are kept like headers. What arrives is any number of heads
and bodies, in pieces that end anywhere. So it is cut where a head can end, at an empty line, or
where a body of known length does, and counted before the parser has it: a head that is too long is
refused, in however many pieces it comes, and never becomes a request.

A third clock runs when the service ends. Who connected or asked a moment ago may be about to ask,
and a request that meets a closed connection is lost; so those are waited for, and only where
nothing has come for a while is a connection closed before its next answer.

The parser is httptools, in C. uvicorn's other one, h11, costs three times as much for a request.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from frazil.service.http.head_coalescing import Writer

__all__ = ["HEAD_MOST", "patient"]

HEAD_MOST = 16_384
"""Bytes of a request line with all headers."""

_END_OF_HEAD = b"\r\n\r\n"
_AROUND_A_BYTE = 8  # a chunk of one byte takes five more

_ABOUT_TO_ASK_S = 2  # after a connection is made, or its last request has come

_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LARGE = b"HTTP/1.1 431 Headers Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def patient(patience_s: float) -> type[asyncio.Protocol]:
    """The protocol of a connection, for uvicorn's ``http=``."""
    return type("Patient", (_Patient,), {"patience_s": patience_s})


class _Patient(HttpToolsProtocol):
    patience_s = 10.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True  # what comes next belongs to a head, maybe of no request yet
        self._head = 0  # bytes of it that have come
        self._left = 0  # bytes of a body whose length is known that have not come
        self._body = 0  # bytes of a body in chunks that have come
        self._around = 0  # bytes of it that are not in its chunks
        self._tail = b""
        self._deaf = False
        self._asking: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._heard_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(cast("asyncio.Transport", Writer(transport, self.loop)))
        self._heard_s = self.loop.time()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        super().connection_lost(exc)
        self._have_request()
        self._be_taken()
        if self._leaving is not None:
            self._leaving.cancel()

    def shutdown(self) -> None:
        """The service ends: close when nothing is begun, and nobody is about to ask."""
        rest_s = self._heard_s + _ABOUT_TO_ASK_S - self.loop.time()
        if self._idle and rest_s > 0:
            self._leaving = self.loop.call_later(rest_s, self.shutdown)
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._heard_s = self.loop.time()
        at = 0
        while at < len(data) and not (self._deaf or self.transport.is_closing()):
            end = self._end_of_piece(data, at)
            self._take(data[at:end])
            at = end
        self._tail = (self._tail + data[-3:])[-3:]

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which nobody here asks for."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head has come to its end."""
        super().on_headers_complete()
        self._in_head = False
        self._body = self._around = 0
        lengths = [int(value) for name, value in self.headers if name == b"content-length"]
        self._left = sum(lengths)  # there is one at most, or the parser refuses the request

    def on_body(self, body: bytes) -> None:
        """A part of a body has come."""
        super().on_body(body)
        self._body += len(body)
        self._left -= min(self._left, len(body))

    def on_message_complete(self) -> None:
        """A request is all there."""
        super().on_message_complete()
        self._in_head = True
        self._head = self._left = 0

    def _end_of_piece(self, data: bytes, at: int) -> int:
        """Where the piece that begins at ``at`` ends: no head ends before that."""
        if self._left:
            return min(at + self._left, len(data))
        found = (self._tail + data[:3]).find(_END_OF_HEAD) if at == 0 else -1
        if found >= 0:
            return found + len(_END_OF_HEAD) - len(self._tail)
        found = data.find(_END_OF_HEAD, max(at - 3, 0))
        return len(data) if found < 0 else found + len(_END_OF_HEAD)

    def _take(self, piece: bytes) -> None:
        """Hand a piece to the parser, unless it makes a head too long."""
        in_head, before = self._in_head, self._body
        if in_head:
            self._head += len(piece)
            if self._head > HEAD_MOST:
                self._refuse()
                return
        super().data_received(piece)
        if self._in_head and not self._head:  # a request has ended, and none has begun
            self._have_request()
            return
        if in_head and not self._in_head:  # now its body is waited for
            self._have_request()
        self._await_request()
        if not in_head:
            self._around += len(piece) - max(self._body - before, 0)
            if self._around > HEAD_MOST + _AROUND_A_BYTE * self._body:
                self.transport.abort()

    def _refuse(self) -> None:
        """Hear nothing more, for a head is too long; close when what was begun is answered."""
        self._deaf = True
        if self._idle:
            self._hang_up(_LARGE)
        else:
            self._have_request()
            self.cycle.keep_alive = False

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        super().pause_writing()
        if self._taking is None:
            self._taking = self.loop.call_later(self.patience_s, self.transport.abort)

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        super().resume_writing()
        self._be_taken()

    @property
    def _idle(self) -> bool:
        """Whether all requests that have come are answered."""
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        if self._asking is None:
            self._asking = self.loop.call_later(self.patience_s, self._too_late)

    def _have_request(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _be_taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _too_late(self) -> None:
        self._asking = None
        answering = self._in_head and not self._idle
        if answering or self.flow.read_paused:  # earlier answers come first
            self._await_request()
        elif self._in_head:
            self._hang_up(_LATE)
        else:
            self.transport.abort()

    def _hang_up(self, words: bytes) -> None:
        self._have_request()
        if not self.transport.is_closing():
            self.transport.write(words)
            self.transport.close()
