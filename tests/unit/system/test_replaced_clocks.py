"""A library that freezes or moves time for tests: no store sees its time, and nothing waits."""

import time
from functools import partial

import pytest
import time_machine
from freezegun import freeze_time

import frazil
from frazil.errors import RegistryUnavailable
from frazil.registries import connect
from frazil.registries.sqlite import lock
from tests.servers.redis import Server

ICICLE = frazil.scheme("icicle")
NEAR_US = 3_000_000
FREEZES = {
    "freezegun-frozen": freeze_time,
    "freezegun-ticking": partial(freeze_time, tick=True),
    "freezegun-auto": partial(freeze_time, auto_tick_seconds=40),
    "time-machine-frozen": partial(time_machine.travel, tick=False),
    "time-machine-ticking": time_machine.travel,
}
freezes = pytest.mark.parametrize("freeze", list(FREEZES))
moments = pytest.mark.parametrize("moment", ["2001-01-01", "2030-01-01"])


@pytest.fixture(scope="module")
def redis():
    with Server() as server:
        yield server.url


def stores(tmp_path, redis):
    yield "memory:"
    yield f"sqlite://{tmp_path / 'claims.db'}?horizon=100ms"
    yield f"static:7?state={tmp_path / 'static.db'}&horizon=100ms"
    yield "static:8?state=none&horizon=100ms"
    yield f"{redis}/?horizon=100ms"


def near(now_us: int, true_us: int) -> bool:
    return abs(now_us - true_us) < NEAR_US


def moment_us(one: int) -> int:
    return ICICLE.layout.epoch_us + (one >> 22) * 1000


@freezes
@moments
def test_a_store_has_the_time_of_the_host(freeze, moment, tmp_path, redis):
    """IDs of generators opened before and inside, of ``mint``, and what the store holds after."""
    namespace = f"{freeze} {moment}"
    for url in stores(tmp_path, redis):
        told = {"namespace": namespace, "timeout": 5}
        host_ns = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        with frazil.open(url, **told) as before:
            with FREEZES[freeze](moment):
                assert time.gmtime().tm_year == int(moment[:4]), "the clock is not replaced"
                made = [frazil.mint(1, url, namespace=namespace)[0], *before.take(2)]
                with frazil.open(url, **told) as inside:
                    made += inside.take(2)
            made += [*before.take(2), frazil.mint(1, url, namespace=namespace)[0]]
        host_us = (host_ns + time.clock_gettime_ns(time.CLOCK_BOOTTIME)) // 1000
        assert all(near(moment_us(one), host_us) for one in made), url
        assert len(set(made)) == len(made)
        found = connect(url, namespace, ICICLE).look()
        assert found is None or near(found.now_us, host_us), url


@freezes
def test_a_wait_for_a_lock_ends(freeze, tmp_path):
    """Counted by a frozen clock it never would."""
    path = tmp_path / "claims.db"
    path.touch()
    held = lock.RevisionFile(path, 1)
    with FREEZES[freeze]("2030-01-01"), pytest.raises(RegistryUnavailable, match="was busy for"):
        lock.RevisionFile(path, 0.05)
    held.close()


@freezes
def test_a_loss_under_a_frozen_clock_waits_for_its_horizon(freeze, tmp_path):
    """And then IDs are made, although the clock of the process stands still."""
    path = tmp_path / "claims.db"
    url = f"sqlite://{path}?horizon=100ms"
    first = frazil.mint(1, url)
    for file in tmp_path.glob("claims.db*"):
        file.unlink()
    with FREEZES[freeze]("2001-01-01"):
        assert frazil.mint(1, url, timeout=5) > first
