"""The client of a service behind the proxies that the environment names."""

import asyncio
import contextlib
import socket
import threading
from base64 import b64encode

import pytest

import frazil
from frazil import aio
from frazil.errors import ConfigError
from tests.servers.certificates import make_certificates
from tests.unit.service.conftest import Service

CONFIG = '[namespaces.a]\nregistry = "memory:"\n'


class HttpProxy:
    """A proxy that passes everything on to one port, and keeps the heads of the requests to it."""

    def __init__(self, port):
        self.heads = []
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", self._to)) as server:
                self._serve(client, server)

    def _serve(self, client, server):
        head = client.recv(65536)
        self.heads.append(head.decode())
        if head.startswith(b"CONNECT "):
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            server.sendall(head)
        back = threading.Thread(target=pump, args=(server, client), daemon=True)
        back.start()
        pump(client, server)
        back.join()


def pump(one, other):
    with contextlib.suppress(OSError):
        while part := one.recv(65536):
            other.sendall(part)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch):
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def proxy(service):
    with HttpProxy(int(service.url.rpartition(":")[2])) as proxy:
        yield proxy


async def awaited(url):
    async with aio.open(url, timeout=60) as ids:
        return await ids()


class TestHttp:
    def test_all_proxy_without_a_scheme(self, proxy, monkeypatch):
        monkeypatch.setenv("ALL_PROXY", f"127.0.0.1:{proxy.port}")
        with frazil.open("http://127.0.0.1:9/a", timeout=60) as ids:
            assert ids()
        assert asyncio.run(awaited("http://127.0.0.1:9/a"))

    def test_no_proxy(self, service, proxy, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with frazil.open(f"{service.url}/a") as ids:
            assert ids()
        assert not proxy.heads

    def test_another_kind_of_proxy_is_an_error(self, monkeypatch):
        monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@127.0.0.1:1080")
        with (
            frazil.open("http://127.0.0.1:9/a") as ids,
            pytest.raises(ConfigError, match=r"socks5://.*NO_PROXY") as caught,
        ):
            ids()
        assert "secret" not in str(caught.value)


class TestHttps:
    def test_through_a_tunnel(self, tmp_path, monkeypatch):
        make_certificates(tmp_path)
        tls = f'[server]\ntls_cert = "{tmp_path}/server.pem"\ntls_key = "{tmp_path}/server.key"\n'
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with (
            Service(tmp_path, tls + CONFIG) as service,
            HttpProxy(int(service.url.rpartition(":")[2])) as proxy,
        ):
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
            with frazil.open("https://localhost:9/a", timeout=60) as ids:
                assert len(set(ids.take(5)) | {ids()}) == 6
            assert asyncio.run(awaited("https://localhost:9/a"))
        for head in proxy.heads:
            lines = head.split("\r\n")
            assert lines[0].startswith("CONNECT localhost:9 ")
            assert f"Proxy-Authorization: Basic {b64encode(b'me:word').decode()}" in lines
        assert len(proxy.heads) == 2
