"""``frazil_id`` of a server that is killed, replaced and has a wrong clock: no ID comes twice."""

import pytest

from tests.faults.inside import trial

__all__: list[str] = []


def test_killed_with_a_clock_that_steps():
    with trial(8) as running:
        for step_s in (-3600, 30, 3600):
            running.step(step_s)
            running.progress()
        running.kill()
        running.progress()
        running.kill(step_s=-3600)
        running.progress()
        running.kill(step_s=7200)
        running.progress()
        assert running.repeats() == 0
        assert running.taken > 1000


def test_a_standby_that_missed_the_last_ids():
    with trial(8) as running:
        running.promote_stale(step_s=-0.8)  # less than the horizon
        running.progress()
        assert running.repeats() == 0


@pytest.mark.parametrize(
    "broken",
    [
        "in_a_row",  # a rollback is enough
        "without_lock",  # so are two sessions
    ],
)
def test_this_test_sees_a_repeat(broken):
    with trial(8, broken=broken) as running:
        for _ in range(3):
            running.progress()
        assert running.repeats() > 0


def test_this_test_sees_a_missing_guard():
    with trial(8, broken="without_guard") as running:
        running.promote_stale(step_s=-0.8)
        for _ in range(5):
            running.progress()
        assert running.repeats() > 0
