"""The status of a generator, in each of its states, from any thread, task and signal handler."""

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

import frazil
from frazil.errors import ClockError, Closed, RegistryUnavailable
from frazil.generator.status import Status, is_late
from frazil.registries.memory import MemoryRegistry
from tests.servers.icicle import Caller
from tests.servers.redis import Server, until
from tests.tools.forks import child


def test_before_in_and_after_use(url):
    url += "?horizon=10min"
    ids = frazil.open(url, namespace="orders")
    before = ids.status()
    assert (before.claimed, before.issued, before.waits, before.node) == (False, 0, 0, None)
    assert before.seconds_left == 0.0
    ids()
    until(lambda: ids.status().seconds_left > 60, "a claim of a horizon")
    ids.take(5)
    now = ids.status()
    assert (now.namespace, now.scheme, now.store) == ("orders", "icicle", url)
    assert (now.claimed, now.issued, now.waits, now.failures) == (True, 6, 1, 0)
    assert now.node == ids.scheme.unpack(ids())["node"]
    assert now.seconds_left <= 600
    left = now.claimed_until - datetime.now(UTC)
    assert abs(left.total_seconds() - now.seconds_left) < 30
    assert abs(now.clock_offset_s) < 30
    assert now.exhausted_in_s > 50 * 365 * 86400
    assert (now.store_away_s, now.last_error, now.last_error_at) == (0.0, "", None)
    assert now.why_unready() == ""
    ids.close()
    after = ids.status()
    assert (after.closed, after.claimed, after.issued) == (True, False, 7)
    assert after.why_unready() == "the generator is closed"


def test_a_counter_has_seconds_at_its_pace(url):
    frazil.init(url, "sequence:64", start=0)
    with frazil.open(url, "sequence:64", block=1000) as ids:
        assert ids.status().seconds_left is None
        for _ in range(100):
            ids()
        time.sleep(0.2)
        status = ids.status()
        assert status.seconds_left > 1.0  # 100 in 0.2 s, and 900 are left
        assert (status.node, status.claimed_until, status.exhausted_in_s) == (None, None, None)


def test_a_clock_that_is_refused():
    """The offset is that of the refused reading, before the claim ends and after it."""
    with Server(faked=True) as server:
        frazil.init(server.url, new=True)
        with frazil.open(server.url) as ids:
            ids()
            server.step_clock(3600)
            with pytest.raises(ClockError):
                ids.take(10_000_000)
            refused = ids.status()
            assert abs(refused.clock_offset_s + 3600) < 5
            why = "no ID can be made now: the store's clock is 3600.0 s ahead of this host's"
            assert refused.why_unready() == why
            server.step_clock(0)
            ids()
            assert abs(ids.status().clock_offset_s) < 5
            assert ids.status().why_unready() == ""


def test_a_store_that_is_stopped():
    """Red before the end of the claim, and green again; the error has its time, no password."""
    with Server(requirepass="hunter2") as server:
        url = f"redis://:hunter2@127.0.0.1:{server.port}?horizon=6s&timeout=200ms"
        frazil.init(url, new=True)
        with frazil.open(url, timeout="100ms") as ids:
            ids.ready("30s")
            until(lambda: ids.status().seconds_left > 4.5, "a claim of nearly a horizon")
            server.kill()
            seen = []
            while True:
                status = ids.status()
                seen.append((status.why_unready() == "", status.seconds_left))
                try:
                    ids()
                except RegistryUnavailable:
                    break
                time.sleep(0.02)
            red = [left for green, left in seen if not green]
            assert seen[0][0]
            assert 0 < max(red) <= 1.5  # while IDs were left, a quarter of the horizon
            status = ids.status()
            assert status.store_away_s > 1
            assert status.store_errors > 0 < status.failures
            assert "hunter2" not in repr(status)
            assert "does not answer" in status.why_unready()
            assert abs(datetime.now(UTC) - status.last_error_at) < timedelta(seconds=60)
            server.start()
            ids.ready("60s")
            status = ids.status()
            assert (status.store_away_s, status.why_unready()) == (0.0, "")
            assert status.last_error


@pytest.fixture
def hang(monkeypatch):
    """A store in memory does not answer until ``hang.set()``, if ``hang.clear()`` was called."""
    answers, step = threading.Event(), MemoryRegistry.step
    answers.set()
    monkeypatch.setattr(MemoryRegistry, "step", lambda self: answers.wait() and step(self))
    yield answers
    answers.set()


def test_a_store_that_hangs(url, hang):
    """Red while IDs are left, also of a generator whose request waits for that of another one."""
    url += "?horizon=6s"
    with frazil.open(url) as busy, frazil.open(url) as other:
        for ids in (busy, other):
            ids()
            until(lambda ids=ids: ids.status().seconds_left > 4.5, "a claim of nearly a horizon")
        hang.clear()
        left = {}

        def red(ids):
            status = ids.status()
            if status.why_unready() and ids not in left:
                left[ids] = status.seconds_left
            return ids in left

        # Their claims need not end together.
        until(lambda: (busy in left or busy()) and red(busy) & red(other), "red")
        assert all(left.values()), "IDs were left"
        assert "the store does not answer for" in busy.status().why_unready()
        until(lambda: busy.status().seconds_left == 0, "the end of the claim")
        assert busy.status().why_unready(), "it stays red"
        hang.set()
        for ids in (busy, other):
            ids()
            until(lambda ids=ids: ids.status().store_away_s == 0, "an answer")


def test_a_counter_whose_store_hangs(url, hang):
    frazil.init(url, "sequence:64", start=0)
    with frazil.open(url, "sequence:64", block=1000) as ids:
        ids.take(600)
        until(lambda: ids._walk.left() > 1000, "the next block")
        hang.clear()
        ids.take(1000)
        red = until(lambda: ids() and ids.status().why_unready() and ids.status(), "red")
        assert red.seconds_left, "values are left"
        hang.set()


def test_a_store_that_never_answered(url, hang):
    """A first claim may take longer: the program has to import and to connect."""
    with frazil.open(f"{url}?horizon=2s", timeout=0) as ids:
        hang.clear()
        with pytest.raises(RegistryUnavailable):
            ids()
        assert until(lambda: ids.status().store_away_s, "the end of the margin") >= 0.5
        assert "0.0 s of IDs are left" in ids.status().why_unready()
        hang.set()


@pytest.mark.parametrize(
    ("silent_s", "usual_s", "left_s", "late"),
    [
        (0.05, 0.001, 0.0, False),  # a busy host
        (0.2, 0.001, 0.0, True),
        (0.6, 0.001, 1.9, False),
        (0.7, 0.001, 1.9, True),
        (0.7, 0.6, 1.9, False),  # it is usually as slow
        (1.0, 0.6, 1.5, True),
        (1.8, 1.9, 0.7, False),
        (2.0, 1.9, 0.5, True),  # as slow again, and few IDs are left
    ],
)
def test_when_an_answer_is_late(silent_s, usual_s, left_s, late):
    assert is_late(silent_s, usual_s, left_s) is late


def test_a_child_has_no_claim_of_its_parent(tmp_path):
    with frazil.open(tmp_path / "claims") as ids:
        ids.take(5)

        def works():
            before = ids.status()
            ids()
            after = until(lambda: ids.status().claimed and ids.status(), "a claim")
            return (before.claimed, before.issued, after.claimed, after.issued, after.waits) == (
                (False, 0, True, 1, 1)
            )

        assert child(works) == 0
        assert ids.status().issued == 5


def test_a_pool_of_servers_that_make_ids():
    with Server() as server, frazil.open(f"icicle://127.0.0.1:{server.port}") as ids:
        Caller(server, "default").init(3)
        ids.take(10)
        status = ids.status()
        assert (status.issued, status.waits, status.failures, status.claimed) == (10, 1, 0, False)
        assert status.why_unready() == ""
    away = frazil.open("icicle://u:hunter2@127.0.0.1:1", timeout="100ms")
    with pytest.raises(RegistryUnavailable):
        away()
    status = away.status()
    assert status.failures == 1
    assert status.store_away_s > 0
    assert "hunter2" not in repr(status)
    assert "does not answer" in status.why_unready()
    away.close()
    with pytest.raises(Closed):
        away()
    assert (away.status().failures, away.status().closed) == (1, True)


@pytest.mark.parametrize(
    ("about", "red"),
    [
        ({}, False),
        ({"store_away_s": 3.0, "claimed": True, "seconds_left": 5.0}, False),
        ({"store_away_s": 3.0, "claimed": True, "seconds_left": 0.9}, True),
        ({"store_away_s": 3.0, "claimed": True, "seconds_left": None}, False),
        ({"store_away_s": 3.0}, True),
        ({"blocked": True}, True),
        ({"closed": True}, True),
        ({"claimed": True, "seconds_left": 0.1}, False),
    ],
)
def test_the_rule(about, red):
    plain = {
        "namespace": "n",
        "scheme": "s",
        "store": "redis://h",
        "closed": False,
        "issued": 0,
        "waits": 0,
        "failures": 0,
        "store_away_s": 0.0,
        "store_errors": 0,
        "last_error": "",
        "last_error_at": None,
        "margin_s": 1.0,
    }
    status = Status(**{**plain, **about})
    assert bool(status.why_unready()) is red
    assert "redis" not in status.why_unready()
    if about.get("seconds_left") == 5.0:
        assert status.why_unready(margin_s=6.0)
