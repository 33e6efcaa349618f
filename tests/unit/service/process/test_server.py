"""The server process: addresses, log, and shutdown."""

import signal
import socket
import struct
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from frazil.cli import main
from frazil.registries import connect
from frazil.schemes.scheme import scheme
from tests.servers.redis import free_port
from tests.unit.service.conftest import START


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_graceful_shutdown_releases_the_claim(start, tmp_path, how):
    url = f"sqlite:///{tmp_path}/claims.db"
    service = start(f'[namespaces.a]\nregistry = "{url}"')
    service.client.get("/v1/a/id")

    def held():
        return [one for one in connect(url, "a", scheme()).holdings() if one.held]

    assert len(held()) == 1
    code = service.stop(how)
    assert code in {-signal.SIGTERM, 130}
    assert service.wait_for("stopped")["issued"] == {"a": 1}
    assert held() == []


def connected(port):
    """Return a connection to a service that is about to listen."""
    deadline_s = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 20)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline_s
            time.sleep(0.001)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_during_the_start_loses_no_request(tmp_path, workers):
    """The signal arrives before a process of the service can accept the connection."""
    port, url = str(free_port()), f"sqlite:///{tmp_path}/claims.db"
    command = [sys.executable, "-c", START, "serve", url, "--port", port, "--workers", workers]
    for _ in range(2):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            with connected(port) as client:
                process.send_signal(signal.SIGTERM)
                client.sendall(b"GET /v1/default/id HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert client.recv(4096).startswith(b"HTTP/1.1 200")
            assert process.wait(30) == -signal.SIGTERM


def test_a_reply_arrives_in_one_piece(start):
    """Head and body; the kernel counts data segments (tcp_info, tcpi_data_segs_in)."""
    service = start("")
    service.client.get("/v1/default/id")
    with service.dialled() as line:
        for replies in (1, 2, 3):
            line.sendall(b"GET /v1/default/id HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = line.recv(65_536)
            assert reply.startswith(b"HTTP/1.1 200")
            assert reply.endswith(b"}")
            about = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
            assert struct.unpack_from("=I", about, 152) == (replies,)


def test_started_requests_are_answered_completely(start):
    """A signal during a long reply: the reply is complete, and the service stops after it."""
    service = start('[namespaces.slow]\nscheme = "sonyflake"\nregistry = "memory:"')
    with service.client.stream(
        "POST", "/v1/slow/ids?n=100000", headers={"Accept": "text/plain"}
    ) as reply:
        parts = reply.iter_text()
        text = next(parts)
        service.process.send_signal(signal.SIGTERM)
        text += "".join(parts)
    ids = text.splitlines()
    assert len(ids) == len(set(ids)) == 100_000
    assert service.process.wait(30) == -signal.SIGTERM
    assert service.wait_for("stopped")["issued"] == {"slow": 100_000}


def test_a_port_that_is_taken(start, tmp_path):
    port = str(start("").port)
    for options in (["--port", port], ["--port", "0", "--resp", port]):
        result = CliRunner().invoke(main, ["serve", "memory:", *options])
        assert result.exit_code == 2
        assert "choose another" in result.output
