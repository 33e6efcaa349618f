"""A signal handler that opens a generator while Python imports what that needs."""

import subprocess
import sys

import pytest

from tests.needs import needs

needs("redis", "one of the modules that are imported")

INTERRUPTED = """
import os, signal, sys
from importlib.abc import MetaPathFinder

url, interrupted, told = sys.argv[1], sys.argv[2:], []

class Interrupting(MetaPathFinder):
    "Sends a signal when a certain module is about to be imported."

    def find_spec(self, name, path, target=None):
        if name in interrupted:
            interrupted.remove(name)
            os.kill(os.getpid(), signal.SIGUSR1)
            return None

def handler(*_):
    try:
        frazil.open(url)
        told.append("opened")
    except Exception as error:
        told.append(f"{type(error).__name__}: {error}")

signal.signal(signal.SIGUSR1, handler)
sys.meta_path.insert(0, Interrupting())
import frazil
ids = frazil.open(url)
handler()
print(*told, sep="\\n")
"""
SQLITE, REDIS = "sqlite:claims.db", "redis://localhost"
CASES = [
    (SQLITE, "frazil.errors"),
    *(
        (SQLITE, f"frazil.{name}")
        for name in ("generator.local", "layout.layout", "system.process")
    ),
    *((SQLITE, f"frazil.registries.sqlite.{name}") for name in ("file", "slots")),
    (REDIS, "frazil.registries.redis.registry"),
    (REDIS, "redis.connection"),
    (REDIS, "redis.client"),
    (REDIS, "redis.exceptions"),
    ("icicle://localhost", "frazil.remote.icicle.calls"),
    ("http://localhost/ns", "frazil.remote.http.generator"),
]


@pytest.mark.parametrize(("url", "module"), CASES)
def test_a_handler_that_interrupts_an_import(url, module, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, url, module],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    first, second = done.stdout.splitlines()
    assert second == "opened"
    kind = "ImportError: " if module == "frazil.errors" else "TryLater: "  # which is not loaded yet
    assert first == "opened" or (first.startswith(kind) and "not loaded yet" in first)
