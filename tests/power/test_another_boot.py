"""After a restart of the host: at most one wait of a horizon, and no repeat.

For layouts with time only the boot shows the loss of a power cut. Here the loss is as bad as
possible: all files are as they were before the last claims, so is the clock, and no member that
remembers is running. Each boot is a separate process, so no file stays open.
"""

from pathlib import Path

import pytest

import frazil
from frazil.registries import connect
from tests.power import breakage
from tests.power.alone import alone
from tests.tools.verbs import begin
from tests.tools.waiting import granted

LAYOUT = "time:41 node:2 sequence:8 @1ms since 2025-01-01T00:00:00Z"
NOW_US = 1_800_000_000_000_000


def contents(place: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}


def put_back(place: Path, before: dict[Path, bytes]) -> None:
    """Write the old contents into the same files; a restart leaves no valid -shm."""
    for path in [path for path in place.rglob("*") if path.is_file()]:
        if path in before:
            with path.open("r+b") as file:
                file.truncate(0)
                file.write(before[path])
        else:
            path.unlink()


def claims(url: str, boot: str, *, initialise: bool = False, want: int = 700) -> list[list[int]]:
    """New members' claims on each slot in that boot: slot, start, until, and the wait."""

    def work():
        breakage.apply("")
        breakage.boot(boot, NOW_US)
        registry = connect(url, "default", frazil.scheme(LAYOUT))
        if initialise:
            begin(registry)
        waited_us = 0

        def wait(us: int) -> None:
            nonlocal waited_us
            waited_us += us
            assert waited_us < 10 * registry.terms.horizon_ticks * registry.terms.tick_us
            breakage.boot(None, NOW_US + waited_us)

        for _ in registry.terms.slots:
            reply = granted(registry, want, wait)
            yield [reply.slot, reply.start, reply.until, waited_us]

    return alone(work)


def overlaps(one: list[list[int]], other: list[list[int]]) -> int:
    return sum(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in one for b in other)


@pytest.fixture
def lost(tmp_path):
    """The URL of a file that has lost all of some claims, and these claims."""
    url = f"sqlite:{tmp_path}/claims.db"
    claims(url, "first-boot", initialise=True, want=1)
    before = contents(tmp_path)
    given = claims(url, "first-boot")
    put_back(tmp_path, before)
    return url, given


def test_a_timed_layout_after_another_boot_waits_a_horizon_and_repeats_nothing(lost):
    url, given = lost
    after = claims(url, "second-boot")
    longest_us = connect(url, "default", frazil.scheme(LAYOUT)).terms.wait_ticks * 1000
    assert not overlaps(given, after)
    assert max(waited_us for *_, waited_us in after) <= longest_us


def test_the_boot_shows_a_loss_of_all_files(lost):
    url, given = lost
    assert overlaps(given, claims(url, "first-boot"))


def test_another_boot_without_a_loss_waits_no_longer(tmp_path):
    url = f"sqlite:{tmp_path}/claims.db"
    given = claims(url, "first-boot", initialise=True)
    after = claims(url, "second-boot")
    assert not overlaps(given, after)
    assert max(waited_us for *_, waited_us in after) <= 1_125_000
