"""A reply's head and its body, sent in one piece.

uvicorn writes the head of a reply as soon as it is known and the body when it comes, and asyncio
hands each to the kernel at once: two calls, two packets, and two times that the client wakes up.
For a reply of thirty bytes that is a fifth of all it costs.

Most replies are there whole, in the same turn of the loop. So a head is held until the next piece
comes, and goes with it; where none comes in this turn (a reply whose making takes a while, or one
without a body), the head goes by itself at the turn's end. Nothing is held longer than that, and
nothing but a head: a long reply fills the socket as before, and the pauses of a slow client work.

A head is told by its first bytes. A piece of a body that begins alike is held for a turn, too, and
comes in its place all the same.
"""

import asyncio
from typing import Any

__all__ = ["Writer"]

_HEAD = b"HTTP/1."


class Writer:
    """What a protocol writes to: a transport, whose other methods and attributes are here, too."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._held = b""
        self._later = loop.call_soon
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, piece: bytes) -> None:
        """Send a piece, after all that was written before."""
        if self._held:
            piece = self._held + piece
            self._held = b""
        elif piece.startswith(_HEAD):
            self._held = piece
            self._later(self._flush)
            return
        self._transport.write(piece)

    def close(self) -> None:
        """Close when all that was written is sent."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close now; what is not sent is lost."""
        self._held = b""
        self._transport.abort()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held:
            self._transport.write(held)
