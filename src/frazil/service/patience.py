"""Patience with HTTP clients: a request comes soon, and its answer is taken soon, or it is the end.

A server that waits for the rest of a request as long as it takes is brought down by a thousand
clients who send a byte a minute: each holds one of the connections there are. uvicorn limits how
long a connection may rest between two requests, and nothing else: neither one on which nothing ever
comes, nor a head or a body that never ends, nor a client who does not read.

So two clocks run here. One from the connection, or from the first byte of a request, until that
request is all there, head and body. The other while the socket is full: it stops when the client
has taken most of what waits, so a trickle does not help. Whether a request is all there is asked of
the server's own state after each piece: a new ``cycle`` is a head that has come to its end, and its
``more_body`` tells of the body. A head is also limited in bytes, which the parser does not do.

A third one runs when the service ends. Who connected or asked a moment ago may be about to ask,
and a request that meets a closed connection is lost; so those are waited for, and only where
nothing has come for a while is a connection closed before its next answer.

The parser is httptools, in C. uvicorn's other one, h11, costs three times as much for a request.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from frazil.service.writer import Writer

__all__ = ["HEAD_MOST", "patient"]

HEAD_MOST = 16_384
"""Bytes of a request line with all headers."""

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
        self._seen: object = None
        self._head = 0
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
        if self._between and rest_s > 0:
            self._leaving = self.loop.call_later(rest_s, self.shutdown)
        else:
            super().shutdown()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._heard_s = self.loop.time()
        super().data_received(data)
        cycle = self.cycle
        if cycle is not self._seen:  # a head has come to its end
            self._seen, self._head = cycle, 0
            self._have_request()
            if cycle.more_body:
                self._await_request()
        elif self._between:
            self._head += len(data)
            if self._head > HEAD_MOST:
                self._hang_up(_LARGE)
            else:
                self._await_request()
        elif not cycle.more_body:
            self._have_request()

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
    def _between(self) -> bool:
        """Whether what comes now belongs to no request whose head is there."""
        return self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body)

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
        if self.flow.read_paused:  # it is the service that does not read: earlier answers first
            self._await_request()
        elif self._between:
            self._hang_up(_LATE)
        else:
            self.transport.abort()

    def _hang_up(self, words: bytes) -> None:
        self._have_request()
        if not self.transport.is_closing():
            self.transport.write(words)
            self.transport.close()
