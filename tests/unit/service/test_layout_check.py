"""At the start of a service, each layout is compared with its record."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import httpx
import pytest

import frazil
from frazil.errors import ConfigError
from frazil.service import read_settings
from frazil.service.app import App
from tests.servers.clock import SteppedClock
from tests.servers.redis import Server, until
from tests.unit.service.conftest import START, refused

CONFIG = """
[namespaces.fine]
registry = "sqlite:///{folder}/fine.db"
[namespaces.orders]
scheme = "tsid"
registry = "{url}"
"""
LAYOUTS = [str(frazil.scheme(name).layout) for name in ("snowflake", "tsid")]


def another(url):
    """Make the namespace ``orders`` belong to members with another layout."""
    with frazil.open(url, "snowflake", namespace="orders") as ids:
        ids()


@pytest.fixture
def file(tmp_path):
    """A configuration whose namespace ``orders`` has another layout than its record."""
    url = f"sqlite:///{tmp_path}/claims.db?horizon=1s"
    another(url)
    file = tmp_path / "frazil.toml"
    file.write_text(CONFIG.format(folder=tmp_path, url=url), encoding="utf-8")
    return file


@pytest.mark.parametrize("workers", ["1", "2"])
def test_another_layout_is_an_error_at_the_start_that_names_both(file, workers):
    said = refused(file.parent, file.read_text(), "--workers", workers)
    assert "namespace 'orders'" in said
    assert all(layout in said for layout in LAYOUTS)


def test_a_full_time_field_is_an_error_at_the_start(tmp_path):
    full = "sign:1=0 time:20 node:4 sequence:12 @1ms since 2020-01-01T00:00:00Z"
    config = f'[namespaces.old]\nscheme = "{full}"\nregistry = "sqlite:///{tmp_path}/c.db"\n'
    said = refused(tmp_path, config)
    assert "namespaces.old" in said
    assert "is full since 2020-01-01T00:17:28.576Z" in said
    assert not (tmp_path / "c.db").exists()


def test_a_worker_that_begins_after_the_end_serves_the_other_namespaces(start, tmp_path):
    clock, epoch = SteppedClock(tmp_path), datetime.now(UTC) - timedelta(seconds=2**30 - 3600)
    ending = f"sign:1=0 time:30 node:10 sequence:12 @1s since {epoch:%Y-%m-%dT%H:%M:%SZ}"
    config = f'[namespaces.old]\nscheme = "{ending}"\nregistry = "sqlite:///{tmp_path}/c.db"\n'
    config += f'[namespaces.good]\nregistry = "sqlite:///{tmp_path}/c.db"\n'
    env = [f"{name}={value}" for name, value in clock.env.items()]
    service = start(config, "--workers", "2", before=("env", *env))

    def status(path):
        with suppress(httpx.TransportError):
            return httpx.get(f"{service.url}{path}", timeout=20).status_code

    def workers():
        found = httpx.get(f"{service.url}/v1/overview", timeout=20).json()["overview"][0]
        return {one["process"] for one in found["workers"]}

    until(lambda: len(workers()) == 2, "two workers")
    for path in ("/v1/old/id", "/v1/good/id"):
        until(lambda path=path: status(path) == 200, path)
    clock.step(7200)
    until(lambda: status("/v1/old/id") == 503, "the end of the layout")
    for process in workers():
        os.kill(process, signal.SIGKILL)
    until(lambda: status("/v1/good/id") == 200, "IDs of another worker", patience_s=60)
    assert status("/v1/old/id") == 503


def test_another_asgi_server_fails_at_the_start(file):
    app = App(read_settings(file))
    answers = []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        answers.append(message)

    with pytest.raises(ConfigError, match="namespace 'orders'"):
        asyncio.run(app({"type": "lifespan", "app": app}, receive, send))
    assert answers[0]["type"] == "lifespan.startup.failed"


@pytest.mark.parametrize("away", ["frozen", "killed"])
def test_a_registry_that_does_not_answer_is_compared_later(start, tmp_path, away):
    """Without any request for an ID, the log and /readyz report it."""
    with Server(persistent=True) as server:
        url = f"{server.url}?horizon=1s"
        another(url)
        server.freeze() if away == "frozen" else server.kill()
        service = start(CONFIG.format(folder=tmp_path, url=url))
        assert service.client.get("/v1/fine/id").status_code == 200
        ready = service.client.get("/readyz")
        assert (ready.status_code, ready.json()["namespaces"]["fine"]) == (503, "ready")
        assert ready.json()["namespaces"]["orders"] == "the registry does not answer"
        line = service.wait_for("not ready")
        assert (line["namespace"], line["error"]) == ("orders", "RegistryUnavailable")
        server.thaw() if away == "frozen" else server.start()
        while (line := service.wait_for("not ready"))["error"] == "RegistryUnavailable":
            pass
        assert line["namespace"] == "orders"
        assert all(layout in line["why"] for layout in LAYOUTS)
        ready = service.client.get("/readyz")
        assert ready.status_code == 503
        assert "does not match the registry" in ready.json()["namespaces"]["orders"]
        server.do("FLUSHALL")
        until(lambda: service.client.get("/readyz").status_code == 200, "ready")


def test_a_counter_that_was_not_set_up(start, tmp_path):
    """Without any request, the log has the command; once it has run, the service is ready."""
    url = f"sqlite:///{tmp_path}/claims.db"
    service = start(f'''[namespaces."in-voices"]\nscheme = "tickets"\nregistry = "{url}"''')
    line = service.wait_for("not ready")
    begin = f"frazil init {url} --namespace in-voices --scheme tickets --start"
    assert begin in line["why"]
    ready = service.client.get("/readyz")
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert "frazil init" in ready.json()["namespaces"]["in-voices"]
    assert service.client.get("/v1/in-voices/id").status_code == 500
    command = [*shlex.split(begin)[1:], "20001"]
    subprocess.run([sys.executable, "-c", START, *command], check=True, capture_output=True)
    until(lambda: service.client.get("/readyz").status_code == 200, "ready")
    assert service.client.get("/v1/in-voices/id").json()["id"] == "20001"
