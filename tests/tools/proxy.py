"""A TCP proxy between a client and a server of this machine, which fails on demand.

A network loses and cuts messages, and the worst moment is when the server has acted and the
client does not know. Killing processes rarely hits this moment. Here it is a line of a test:

    with Proxy(server.port) as wire:
        url = f"redis://127.0.0.1:{wire.port}"
        with wire.losing_replies(after=b"EVALSHA"):
            ...

TCP itself never repeats a request. A client, a driver or a load balancer does when it retries. So a
repeated request arrives over a second connection, whose answers are dropped.

Everything may be changed while connections are open.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Self

_CHUNK = 1 << 16


@dataclass(frozen=True)
class Faults:
    """The faults of all connections."""

    refusing: bool = False
    losing_after: bytes | None = None
    losing_cuts: bool = True
    repeating: bool = False


@dataclass(eq=False)
class Wire:
    """A client's connection, the one to the server that belongs to it, and its double."""

    client: socket.socket
    server: socket.socket
    double: socket.socket | None = None
    lost: bool = False
    asked: bool = False
    ended: list[str] = field(default_factory=list)

    def cut(self) -> None:
        """Break both sides at once, like a router that forgets a connection."""
        for end in (self.client, self.server, self.double):
            if end is not None:
                _break(end)


class Proxy:
    """Listens on ``port`` of 127.0.0.1 for a server there. ``with Proxy(server.port) as wire:``

    requests, replies: how many bytes went each way. turns: how many times a client sent something
    after an answer, or first: its round trips. lost: how many times a reply was swallowed. opened:
    how many connections were made.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.requests = self.replies = self.turns = self.lost = self.opened = 0
        self._faults = Faults()
        self._wires: set[Wire] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Shut down first: closing alone does not wake the thread that accepts.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        with self._lock:
            return len(self._wires)

    def cut(self) -> None:
        """Break every connection, in the middle of whatever goes over it."""
        with self._lock:
            wires = list(self._wires)
        for wire in wires:
            wire.cut()

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Break the open connections, and every new one at once."""
        with self._changed(refusing=True):
            self.cut()
            yield

    @contextmanager
    def losing_replies(self, after: bytes = b"", *, silently: bool = False) -> Iterator[None]:
        """Drop the server's answers, and with the first of them break the connection.

        after: only on connections over which a request with these bytes has gone, so that what is
        said to open a connection is answered. silently: leave the connection open.
        """
        with self._changed(losing_after=after, losing_cuts=not silently):
            yield

    @contextmanager
    def repeating_requests(self) -> Iterator[None]:
        """Let every request reach the server twice.

        Open connections are cut first, so the second connection receives everything from the start.
        """
        with self._changed(repeating=True):
            self.cut()
            yield
        self.cut()

    @contextmanager
    def _changed(self, **faults: object) -> Iterator[None]:
        before = self._faults
        self._faults = replace(before, **faults)  # type: ignore[arg-type]
        try:
            yield
        finally:
            self._faults = before

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                self._connect(client)
            except OSError:  # there is no server, and the client has to see that
                _break(client)
                client.close()

    def _connect(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        repeating = self._faults.repeating
        wire = Wire(client, self._dial(), self._dial() if repeating else None)
        with self._lock:
            self.opened += 1
            self._wires.add(wire)
            if self._faults.refusing or self._faults.repeating != repeating:
                wire.cut()  # it came as that changed, too late for the cut that goes with it
        jobs = [(self._carry_requests, (wire,)), (self._carry_replies, (wire,))]
        if wire.double is not None:
            jobs.append((_discard, (wire.double,)))
        for work, arguments in jobs:
            threading.Thread(target=work, args=arguments, name="proxy", daemon=True).start()

    def _dial(self) -> socket.socket:
        server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
        server.settimeout(None)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server

    def _carry_requests(self, wire: Wire) -> None:
        heard = b""
        with suppress(OSError):
            while chunk := wire.client.recv(_CHUNK):
                faults = self._faults
                wanted = faults.losing_after
                if wanted is not None:
                    heard = (heard + chunk)[-_CHUNK:]  # it may come in two pieces
                    wire.lost = wire.lost or wanted in heard
                self._count(requests=len(chunk), turns=not wire.asked)
                wire.asked = True
                wire.server.sendall(chunk)
                if wire.double is not None:
                    with suppress(OSError):
                        wire.double.sendall(chunk)
            wire.server.shutdown(socket.SHUT_WR)
        self._end(wire, "requests")

    def _carry_replies(self, wire: Wire) -> None:
        with suppress(OSError):
            while chunk := wire.server.recv(_CHUNK):
                faults = self._faults
                if faults.losing_after is not None and wire.lost:
                    self._count(lost=1)
                    if faults.losing_cuts:
                        wire.cut()
                        break  # the rest of the reply is lost with it
                    continue
                wire.asked = False
                self._count(replies=len(chunk))
                wire.client.sendall(chunk)
            wire.client.shutdown(socket.SHUT_WR)
        self._end(wire, "replies")

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, number in more.items():
                setattr(self, name, getattr(self, name) + number)

    def _end(self, wire: Wire, way: str) -> None:
        """Close a connection whose two directions have ended."""
        with self._lock:
            wire.ended.append(way)
            if len(wire.ended) < 2:
                return
            self._wires.discard(wire)
        for end in (wire.client, wire.server, wire.double):
            if end is not None:
                end.close()


def _break(end: socket.socket) -> None:
    """Reset a connection, and wake its readers."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _discard(end: socket.socket) -> None:
    """Read and drop the answers, so that the server does not block."""
    with suppress(OSError):
        while end.recv(_CHUNK):
            pass
