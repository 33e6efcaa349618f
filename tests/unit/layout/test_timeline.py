"""Ticks and moments, as a layout shows them, and every moment that is refused."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from frazil.errors import LayoutError
from frazil.layout.field import Piece
from frazil.layout.layout import Layout
from frazil.system import clock

SONYFLAKE = Layout.parse("sign:1=0 time:39 sequence:8 node:16 @10ms since 2014-09-01T00:00:00Z")
WIDE = Layout.parse("zero:20=0 node:20 time:71 sequence:17 @1ms since 1970-01-01T00:00:00Z")
UNSET = Layout.parse("version:3=0 time:32 sequence:8 node:4 @1s since ?")
TIMELESS = Layout.parse("version:3=0 run:30 sequence:14")


def test_ticks_and_moments() -> None:
    layout = SONYFLAKE
    assert layout.epoch_us is not None
    epoch, end = layout.epoch_us, 2**39
    assert layout.tick_at(epoch) == layout.tick_at(epoch + 9_999) == 0
    assert layout.tick_at(epoch + 10_000) == 1
    assert layout.us_at(3) == epoch + 30_000
    assert layout.us_at(end) == layout.exhausted_us
    assert layout.tick_at(layout.us_at(end) - 1) == end - 1
    for us in (epoch - 1, layout.us_at(end)):
        with pytest.raises(
            LayoutError, match="2014-09-01T00:00:00Z and ends before 2188-11-16"
        ) as caught:
            layout.tick_at(us)
        assert caught.value.facts == {
            "field": "time",
            "value": us,
            "limit": (epoch, layout.exhausted_us),
        }
    for tick in (-1, end + 1):
        with pytest.raises(LayoutError):
            layout.us_at(tick)
    for wrong in (True, 1.5, datetime.now(UTC)):
        with pytest.raises(LayoutError, match="an int of µs"):
            layout.tick_at(wrong)  # type: ignore[arg-type]


def test_a_time_of_71_bits_is_exact() -> None:
    layout = WIDE
    last = 2**71 - 1
    assert layout.tick_at(layout.us_at(last)) == last
    with pytest.raises(LayoutError, match="ends before year 7482"):
        layout.tick_at(2**71 * 1000)


@pytest.mark.parametrize(
    "use",
    [
        lambda layout: layout.exhausted_us,
        lambda layout: layout.tick_at(0),
        lambda layout: layout.us_at(0),
        lambda layout: layout.window(0, 1),
    ],
)
def test_an_epoch_that_is_still_to_be_chosen(use: Callable[[Layout], object]) -> None:
    layout = UNSET
    assert layout.epoch_us is None
    with pytest.raises(LayoutError, match="since") as caught:
        use(layout)
    assert caught.value.field == "since"
    chosen = layout.with_epoch(1_400_000_000_000_000)
    assert str(chosen) == str(layout).replace("?", "2014-05-13T16:53:20Z")
    assert chosen.us_at(2) == 1_400_000_002_000_000


@pytest.mark.parametrize("name", ["tick_at", "us_at"])
def test_a_layout_without_time_has_no_moments(name: str) -> None:
    with pytest.raises(LayoutError, match="no time field"):
        getattr(TIMELESS, name)(0)
    with pytest.raises(LayoutError, match="no time field"):
        TIMELESS.with_epoch(0)


def test_an_epoch_in_the_future(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.to_us(datetime(2020, 5, 17, tzinfo=UTC))
    monkeypatch.setattr(clock, "wall_us", lambda: now)
    layout = UNSET
    assert layout.with_epoch(now).tick_at(now) == 0
    with pytest.raises(
        LayoutError, match=r"2020-05-17T00:00:00\.000001Z is in the future"
    ) as caught:
        layout.with_epoch(now + 1)
    assert caught.value.facts == {"field": "since", "value": now + 1, "limit": now}
    with pytest.raises(LayoutError, match="in the future"):
        Layout.parse("time:8 @1s since 2020-05-18")


@pytest.mark.parametrize("tick_us", [0, -1, 0.5, True, "1ms"])
def test_a_tick_is_a_whole_number_of_microseconds(tick_us: Any) -> None:
    with pytest.raises(LayoutError) as caught:
        Layout((Piece("time", "time", 7),), tick_us, 0)
    assert (caught.value.field, caught.value.value, caught.value.limit) == ("tick", tick_us, 1)


@pytest.mark.parametrize("epoch_us", [-(10**17), 0.5, "1970", True])
def test_an_epoch_is_a_moment_that_can_be_written(epoch_us: Any) -> None:
    with pytest.raises(LayoutError) as caught:
        UNSET.with_epoch(epoch_us)
    assert (caught.value.field, caught.value.value) == ("since", epoch_us)
