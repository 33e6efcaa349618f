"""The proxy's faults, seen from a client and from a server that counts."""

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from tests.tools.proxy import Proxy


class Counter:
    """A server that answers every line with how many it has heard."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard = []
        self.arrived = threading.Semaphore(0)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        try:
            with one, one.makefile("rb") as lines:
                for line in lines:
                    self.heard.append(line)
                    self.arrived.release()
                    one.sendall(b"%d\n" % len(self.heard))
                one.sendall(b"bye\n")
        except OSError:
            return

    def wait_for(self, count):
        for _ in range(count):
            assert self.arrived.acquire(timeout=10)

    def close(self):
        with suppress(OSError):  # twice is no error
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@pytest.fixture
def server():
    one = Counter()
    yield one
    one.close()


@pytest.fixture
def wire(server):
    with Proxy(server.port) as wire:
        yield wire


@contextmanager
def client(wire, timeout=10):
    with socket.create_connection(("127.0.0.1", wire.port), timeout=timeout) as one:
        yield one


def ask(one, text=b"hello\n"):
    one.sendall(text)
    return one.recv(100)


def is_cut(one):
    try:
        return one.recv(100) == b""
    except ConnectionError:
        return True


def test_cuts(wire):
    with client(wire) as a, client(wire) as b:
        ask(a)
        ask(b)
        wire.cut()
        assert is_cut(a)
        assert is_cut(b)
    with client(wire) as one:
        assert ask(one) == b"3\n"


def test_loses_replies_after_the_server_has_acted(wire, server):
    with wire.losing_replies(), client(wire) as one:
        one.sendall(b"hello\n")
        server.wait_for(1)
        assert is_cut(one)
    assert wire.lost == 1
    with client(wire) as one:
        assert ask(one) == b"2\n"


def test_loses_replies_to_some_requests_only(wire, server):
    with wire.losing_replies(after=b"verb"), client(wire) as one:
        assert ask(one) == b"1\n"
        one.sendall(b"ve")
        time.sleep(0.05)
        one.sendall(b"rb\n")
        server.wait_for(2)
        assert is_cut(one)


def test_repeats_requests_and_answers_once(wire, server):
    with wire.repeating_requests(), client(wire) as one:
        assert ask(one) in (b"1\n", b"2\n")
        server.wait_for(2)
        assert server.heard == [b"hello\n"] * 2
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(100)
    with client(wire) as one:
        assert ask(one) == b"3\n"
