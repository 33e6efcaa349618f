"""A wire on which replies trickle: a byte, a pause, a byte."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.tools.proxy import Proxy, Wire

_CHUNK = 1 << 16


class Trickle(Proxy):
    """``with Trickle(server.port) as wire:`` then ``with wire.trickling():``."""

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self._pause_s = 0.0

    @contextmanager
    def trickling(self, pause_s: float = 0.1) -> Iterator[None]:
        """Let replies come byte by byte, also on connections that are open already."""
        self._pause_s = pause_s
        try:
            yield
        finally:
            self._pause_s = 0.0

    def _carry_replies(self, wire: Wire) -> None:
        with suppress(OSError):
            while chunk := wire.server.recv(_CHUNK):
                while chunk and self._pause_s:
                    wire.client.sendall(chunk[:1])
                    chunk = chunk[1:]
                    time.sleep(self._pause_s)
                wire.client.sendall(chunk)
            wire.client.shutdown(socket.SHUT_WR)
        self._end(wire, "replies")
