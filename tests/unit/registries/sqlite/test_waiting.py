"""Waiting for the lock: the clock of the claim is read at the end of the wait."""

import fcntl
import threading
from contextlib import contextmanager

import pytest

import frazil
from frazil.registries import connect
from frazil.registries.base import reading_ns
from frazil.system.clock import boot_ns
from tests.tools.verbs import grant

HELD_S = 0.5


@pytest.fixture
def held(tmp_path):
    """A URL, and the lock of its file held for a while from when it is entered."""
    url = f"sqlite:{tmp_path}/claims.db"
    frazil.mint(1, url)

    @contextmanager
    def hold():
        with (tmp_path / "claims.db-revision").open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            freed_ns = []

            def free():
                freed_ns.append(boot_ns())
                fcntl.flock(file, fcntl.LOCK_UN)

            timer = threading.Timer(HELD_S, free)
            timer.start()
            yield freed_ns
            timer.join()

    return url, hold


def test_the_clock_is_read_at_the_end_of_the_wait(held):
    url, hold = held
    registry = connect(url, "default", frazil.scheme())
    with hold() as freed_ns:
        sent_ns = boot_ns()
        grant(registry, 1)
        read_ns = reading_ns(registry, sent_ns, boot_ns())
    assert read_ns >= max(freed_ns)
