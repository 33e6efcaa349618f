"""nginx in front of the service, with the configuration of deploy/proxy/."""

import ssl
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx

from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.servers.redis import Server, free_port
from tests.tools.waiting import until
from tests.unit.service.conftest import Service

CONF = Path(__file__).resolve().parents[2] / "deploy" / "proxy" / "nginx.conf"
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def nginx(place, backends):
    """nginx on a free port, with these services behind it: the port."""
    needs("nginx", "a proxy in front of the service")
    make_certificates(place)
    port = free_port()
    own = "".join(f"    {name}_temp_path {place}/{name};\n" for name in FOLDERS)
    servers = "".join(f"server {one} max_fails=2 fail_timeout=2s;" for one in backends)
    text = CONF.read_text(encoding="utf-8")
    for before, after in (
        ("http {\n", f"http {{\n{own}"),
        ("server 127.0.0.1:8080 max_fails=2 fail_timeout=2s;", servers),
        ("listen 8443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("worker_processes auto;", "worker_processes 1; user root; daemon off; pid nginx.pid;"),
    ):
        assert text.count(before) == 1
        text = text.replace(before, after)
    (place / "nginx.conf").write_text(text, encoding="utf-8")
    running = subprocess.Popen(
        ["nginx", "-e", "stderr", "-p", str(place), "-c", str(place / "nginx.conf")],
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        running.terminate()
        running.wait(30)


def test_nginx(tmp_path):
    """TLS, no /metrics, and no call that fails while one of two services is killed."""
    for name in ("proxy", "a", "b"):
        (tmp_path / name).mkdir()

    def ask():
        reply = client.post("/v1/default/ids?n=1", headers={"Accept": "text/plain"})
        assert reply.status_code == 200, reply.text
        return int(reply.text)

    def reached():
        with suppress(httpx.TransportError):
            return client.get("/readyz").status_code == 200

    with ExitStack() as stack:
        store = stack.enter_context(Server())
        config = f'[namespaces.default]\nregistry = "{store.url}?horizon=1s"\n'
        services = [stack.enter_context(Service(tmp_path / name, config)) for name in "ab"]
        backends = [each.url.removeprefix("http://") for each in services]
        port = stack.enter_context(nginx(tmp_path / "proxy", backends))
        trusted = ssl.create_default_context(cafile=str(tmp_path / "proxy" / "ca.pem"))
        client = httpx.Client(base_url=f"https://localhost:{port}", verify=trusted)
        stack.enter_context(client)
        until(reached, "nginx")
        assert client.get("/metrics").status_code == 404
        made = [ask() for _ in range(50)]
        services[1].process.kill()
        end = time.monotonic() + 2
        while time.monotonic() < end or len(made) <= 100:
            made.append(ask())
    assert len(set(made)) == len(made)
