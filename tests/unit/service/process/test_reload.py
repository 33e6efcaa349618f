"""SIGHUP, and a restart that refuses no connection."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, nullcontext
from functools import partial

import httpx
import pytest
import redis

from tests.needs import needs
from tests.servers.certificates import make_certificates
from tests.servers.redis import until
from tests.tools.beside import beside
from tests.unit.service.conftest import START, token

NAMESPACE = '[namespaces.{0}]\nregistry = "sqlite:///{1}/{0}.db?horizon=2s"\n'


def reload(service, config):
    service.file.write_text(config, encoding="utf-8")
    service.process.send_signal(signal.SIGHUP)


def status(service, name, path="/v1/a/id"):
    headers = {"Authorization": f"Bearer {name}"}
    return httpx.get(service.url + path, headers=headers, timeout=20).status_code


@pytest.mark.parametrize("workers", ["1", "2"])
def test_tokens_quotas_and_namespaces(start, tmp_path, workers):
    first, second = (NAMESPACE.format(name, tmp_path) for name in "ab")
    service = start(first + token("old") + token("kept"), "--workers", workers)
    assert (status(service, "old"), status(service, "new")) == (200, 401)
    assert status(service, "kept", "/v1/b/id") == 404

    with httpx.Client(base_url=service.url, headers={"Authorization": "Bearer kept"}) as client:
        client.get("/v1/a/id")
        reload(service, first + second + token("new") + token("kept", more="ids_per_minute = 5"))
        for _ in range(int(workers)):
            service.wait_for("reloaded")
        assert status(service, "old") == 401
        assert status(service, "new") == status(service, "new", "/v1/b/id") == 200
        statuses = [client.get("/v1/a/id").status_code for _ in range(9)]
        assert statuses == [200] * 5 + [429] * 4  # on the connection from before
    assert service.stop() == -signal.SIGTERM


def test_a_command_that_a_redis_client_repeats(start, tmp_path):
    """Its reply is that of the settings now, not of those at the first time."""
    namespace = NAMESPACE.format("a", tmp_path)
    service = start(namespace + token("old") + token("kept"), "--resp", "0")
    with (
        redis.Redis(port=service.resp, password="old", socket_timeout=20) as old,
        redis.Redis(port=service.resp, password="kept", socket_timeout=20) as kept,
    ):
        first = [int(client.incr("a")) for client in (old, kept, old, kept)]
        assert len(set(first)) == 4
        reload(service, namespace + token("kept", more="ids_per_minute = 5"))
        service.wait_for("reloaded")
        with pytest.raises(redis.ResponseError, match="not known here"):
            old.incr("a")
        with kept.pipeline(transaction=False) as pipe:
            for _ in range(9):
                pipe.incr("a")
            replies = pipe.execute(raise_on_error=False)
        assert len({int(one) for one in replies[:5]}) == 5
        assert all("quota" in str(one) for one in replies[5:])
        assert len(replies) == 9


def test_an_invalid_file_changes_nothing(start, tmp_path):
    config = NAMESPACE.format("a", tmp_path)
    service = start(config + token("good"))
    for wrong in (config + "[nonsense]", "[[", config.replace("?horizon=2s", "?horizn=2s")):
        reload(service, wrong)
        assert until(lambda: any(one["event"] == "not reloaded" for one in service.lines), "a word")
        service.lines.clear()
        assert status(service, "good") == 200
    secret = "redis://u:hunter2@h"
    for wrong in (f"[namespaces.'b d']\nregistry = '{secret}'", f"[server]\nhost = '{secret}'"):
        reload(service, wrong)
        assert "u:hunter2" not in str(service.wait_for("not reloaded"))


def test_a_certificate_under_load(start, tmp_path):
    needs("openssl", "certificates")
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        make_certificates(tmp_path / name)
    now = tmp_path / "now"
    now.symlink_to("old")
    server = f'[server]\ntls_cert = "{now}/server.pem"\ntls_key = "{now}/server.key"\n'
    service = start(server + NAMESPACE.format("a", tmp_path))

    def certificate():
        return ssl.get_server_certificate(("127.0.0.1", service.port), timeout=20)

    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    failed, count = [], [0]

    def connected():
        return httpx.Client(base_url=service.url, verify=trusting, timeout=20)

    def ask(kept=None):
        try:
            with nullcontext(kept) if kept else connected() as client:
                if client.get("/v1/a/id").status_code != 200:
                    failed.append("status")
            count[0] += 1
        except httpx.HTTPError as error:
            failed.append(error)

    with ExitStack() as stack:
        for _ in range(16):
            kept = stack.enter_context(connected())
            stack.enter_context(beside(partial(ask, kept)))
            stack.enter_context(beside(ask))
        before = certificate()
        now.unlink()
        now.symlink_to("new")
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("reloaded")
        after = certificate()
        enough = count[0] + 30
        assert until(lambda: failed or count[0] > enough, "requests after it")
    assert (before, after) == tuple(
        ssl.DER_cert_to_PEM_cert(
            ssl.PEM_cert_to_DER_cert((tmp_path / name / "server.pem").read_text())
        )
        for name in ("old", "new")
    )
    assert not failed


def begin(listener, folder, *options):
    """Start a service on a listening socket, as systemd does, and wait until it listens."""
    script = 'export LISTEN_PID=$$ LISTEN_FDS=1; exec 3<&"$FD" "$@"'
    command = ["bash", "-c", script, "bash", sys.executable, "-c", START, "serve", *options]
    log = folder / f"log{time.monotonic_ns()}"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            env={**os.environ, "FD": str(listener.fileno()), "XDG_STATE_HOME": str(folder)},
            pass_fds=[listener.fileno()],
            stderr=stderr,
        )
    assert until(lambda: '"listening"' in log.read_text(), "the service")
    return process


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_a_restart_refuses_no_connection(tmp_path, workers):
    options = [f"sqlite:///{tmp_path}/claims.db?horizon=2s", "--workers", workers]
    ids, lost = [], []
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def ask(client):
            try:
                ids.append(client.get("/v1/default/id").json()["id"])
            except (httpx.HTTPError, KeyError) as error:
                lost.append(error)

        process = begin(listener, tmp_path, *options)
        with ExitStack() as stack:
            for _ in range(64):
                client = stack.enter_context(httpx.Client(base_url=url, timeout=60))
                stack.enter_context(beside(partial(ask, client)))
            for most in (100, 200):
                assert until(lambda most=most: len(ids) > most, "IDs")
                process.terminate()
                assert process.wait(60) == -signal.SIGTERM
                process = begin(listener, tmp_path, *options)
            assert until(lambda: len(ids) > 300, "IDs")
        process.terminate()
        process.wait(60)
    assert not lost
    assert len(set(ids)) == len(ids)
