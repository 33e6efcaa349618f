"""Shutdown: every connection is answered or refused."""

import contextlib
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

PLAIN = '[namespaces.a]\nregistry = "memory:"\n'
SHARED = '[namespaces.a]\nregistry = "sqlite:///{}/claims.db?horizon=2s"\n'
ASKING = b"GET /v1/a/id HTTP/1.1\r\nhost: localhost\r\n\r\n"


def answer_to_one_who_was_silent(service):
    """Return the reply to a request one second after the signal, on an older connection."""
    with service.dialled() as silent:
        service.process.send_signal(signal.SIGTERM)
        time.sleep(1)
        with contextlib.suppress(ConnectionError):
            silent.sendall(ASKING)
            with silent.makefile("rb") as reply:
                return reply.read()  # all of it; it may come in several segments
    return b""


def test_a_connected_client_without_a_request_is_answered(start):
    """The service waits two seconds, which a busy machine may miss; so it has several tries."""
    for _ in range(3):
        service = start(PLAIN)
        head, _, body = answer_to_one_who_was_silent(service).partition(b"\r\n\r\n")
        assert service.process.wait(20) == -signal.SIGTERM
        if head:
            assert head.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in head
            assert b'"id":"' in body
            return
    raise AssertionError("it hung up on one who was about to ask")


def test_clients_that_connect_during_shutdown_are_answered(start):
    """Every connection is answered or refused; none is accepted and lost."""
    service = start(PLAIN)
    lost, answered = [], []

    def ask():
        with contextlib.suppress(ConnectionRefusedError):
            while True:
                wire = service.dialled()
                with wire:
                    try:
                        wire.sendall(ASKING)
                        answered.append(wire.recv(4096)[:12])
                    except ConnectionError as error:
                        lost.append(error)

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(ask)
        assert service.stop() == -signal.SIGTERM
    assert lost == []
    assert set(answered) == {b"HTTP/1.1 200"}


def test_the_end_of_one_worker_refuses_no_client(start, tmp_path):
    """The other worker listens on the same socket and continues."""
    service = start(SHARED.format(tmp_path), "--workers", "2")
    leaving = service.wait_for("worker begins")["process"]
    assert service.client.get("/v1/a/id").status_code == 200
    os.kill(leaving, signal.SIGTERM)
    assert service.wait_for("worker died")["process"] == leaving
    for _ in range(20):
        address = "127.0.0.1", service.port
        with socket.create_connection(address, 0.9) as wire:  # TCP would try after 1 s
            wire.settimeout(20)
            wire.sendall(ASKING)
            assert wire.recv(4096).startswith(b"HTTP/1.1 200")
    assert service.stop() == -signal.SIGTERM
