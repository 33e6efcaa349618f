"""TLS for both protocols, and clients that verify certificates."""

import shutil
import socket
import ssl
import subprocess
import time

import httpx
import pytest
import redis

import frazil
from frazil.errors import ConfigError
from frazil.service.settings import Tls
from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.unit.service.conftest import Service, refused

needs("openssl", "certificates")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("certificates")
    make_certificates(place)
    return place


def config(place, more=""):
    return f"""
[server]
resp_port = 0
tls_cert = "{place}/server.pem"
tls_key = "{place}/server.key"
{more}
[namespaces.a]
registry = "memory:"
"""


@pytest.fixture(scope="module")
def service(place, tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service"), config(place)) as service:
        yield service


def test_both_protocols(service, place):
    assert service.url.startswith("https://")
    trusted = ssl.create_default_context(cafile=place / "ca.pem")
    reply = httpx.get(f"https://localhost:{service.port}/v1/a/id", verify=trusted)
    assert reply.status_code == 200
    options = {"ssl": True, "ssl_ca_certs": str(place / "ca.pem")}
    with redis.Redis("localhost", service.resp, **options) as client:
        assert int(client.incr("a")) > int(reply.json()["id"])


def test_no_unencrypted_connection(service):
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://localhost:{service.port}/v1/a/id")
    with pytest.raises(redis.RedisError), redis.Redis("localhost", service.resp) as client:
        client.incr("a")


def test_the_client_of_frazil(service, place, monkeypatch):
    url = f"https://localhost:{service.port}/a"
    monkeypatch.setenv("SSL_CERT_FILE", str(place / "ca.pem"))
    with frazil.open(url) as ids:
        assert len(set(ids.take(100))) == 100
    monkeypatch.delenv("SSL_CERT_FILE")
    with frazil.open(url) as ids, pytest.raises(ConfigError, match="not trusted"):
        ids()


def test_client_certificates(place, start):
    service = start(config(place, f'tls_client_ca = "{place}/ca.pem"'))
    url = f"https://localhost:{service.url.rpartition(':')[2]}/livez"
    trusted = ssl.create_default_context(cafile=place / "ca.pem")
    with pytest.raises(httpx.HTTPError):
        httpx.get(url, verify=trusted)
    trusted.load_cert_chain(place / "server.pem", place / "server.key")
    assert httpx.get(url, verify=trusted).status_code == 200


def test_on_the_command_line(place, start):
    service = start("", "--tls-cert", str(place / "server.pem"), "--tls-key", f"{place}/server.key")
    trusted = ssl.create_default_context(cafile=place / "ca.pem")
    url = service.url.replace("127.0.0.1", "localhost")
    assert httpx.get(f"{url}/livez", verify=trusted).status_code == 200


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_file_that_is_missing_is_the_only_error(tmp_path, workers):
    server = '[server]\nresp_port = 0\ntls_cert = "none.pem"\ntls_key = "none.key"\n'
    assert "none.pem" in refused(tmp_path, server, "--workers", workers)


def test_files_that_do_not_fit(place, tmp_path):
    shutil.copy(place / "ca.key", tmp_path / "key")
    locked = ["openssl", "rsa", "-aes128", "-passout", "pass:x", "-in", place / "server.key"]
    subprocess.run([*locked, "-out", tmp_path / "locked"], check=True, capture_output=True)
    for key, told in (("key", "TLS"), ("none", "No such file"), ("locked", "password")):
        with pytest.raises(ConfigError, match=told):
            Tls(str(place / "server.pem"), str(tmp_path / key)).context()


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01"], ids=["nothing", "half a hello"])
def test_a_handshake_that_does_not_end(place, start, sent):
    """``client_timeout`` bounds it, on both ports."""
    service = start(config(place, 'client_timeout = "1s"'))  # it would be ten seconds
    for port in (service.port, service.resp):
        with socket.create_connection(("127.0.0.1", port), 20) as client:
            began_s = time.monotonic()
            client.sendall(sent)
            assert client.recv(1) == b""
            assert time.monotonic() - began_s < 100
