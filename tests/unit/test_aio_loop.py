"""The first awaited ID of each store: nothing that may block runs on the loop's thread."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import frazil
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.servers.stores import KINDS, store
from tests.tools.loop_watch import VARIANTS
from tests.unit.service.conftest import Service

ROOT = Path(__file__).parents[2]
LONG = {"mysql", "etcd", "zookeeper"}  # which come in no wheel


def seen(url, namespace="orders", variant=""):
    """What a process saw that awaited a first ID."""
    command = [sys.executable, "-m", "tests.tools.loop_watch", url, namespace]
    done = subprocess.run(
        [*command, *([variant] if variant else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("url", ["memory:", "static:7?horizon=100ms"])
def test_memory_and_a_number(url):
    assert seen(url) == []


@pytest.mark.parametrize("again", [False, True])
def test_sqlite(tmp_path, again):
    url = f"sqlite://{tmp_path}/claims.db?horizon=100ms"
    if again:
        frazil.mint(1, url, namespace="orders")
    assert seen(url) == []


def test_icicle():
    with Server() as server:
        Caller(server).init()
        assert seen(f"icicle://127.0.0.1:{server.port}", "test") == []


def test_service(tmp_path):
    with Service(tmp_path, '[namespaces.orders]\nregistry = "memory:"\n') as service:
        assert seen(f"{service.url}/orders", "default") == []


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=[pytest.mark.long] * (each in LONG)) for each in KINDS]
)
def test_a_server(kind):
    """A namespace that is new there, and one that is known."""
    with store(kind) as one:
        url = f"{one.url}?horizon=100ms"
        frazil.init(url, namespace="orders", new=True)
        assert seen(url) == []
        assert seen(url, "other") == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_blocks_is_seen(variant, tmp_path):
    url = "memory:" if variant == "importing" else f"sqlite://{tmp_path}/claims.db?horizon=100ms"
    assert seen(url, variant=variant)
