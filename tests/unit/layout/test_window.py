"""Windows: exactly the IDs of an interval, or a refusal that says what is in the way."""

import pytest

from frazil.errors import LayoutError
from frazil.layout.layout import Layout


@pytest.mark.parametrize(
    ("text", "words", "field"),
    [
        ("time:4~ sequence:3 @1s since 1970-01-01", "is reversed", "time"),
        ("node:3 time:4 @1s since 1970-01-01", "node is above", "node"),
        ("time[3..2] sequence:3 time[1..0] @1s since 1970-01-01", "is in pieces", "time"),
        ("node[3..2] time:4 node[1..0] @1s since 1970-01-01", "node is above", "node"),
        ("run:3 sequence:14", "no time field", "time"),
    ],
)
def test_windows_that_are_not_one_range(text: str, words: str, field: str) -> None:
    with pytest.raises(LayoutError, match=words) as caught:
        Layout.parse(text).window(0, 1_000_000)
    assert caught.value.field == field


def test_a_window_stays_inside_the_time_field() -> None:
    layout = Layout.parse("time:4 sequence:2 @1s since 1970-01-01T00:00:10Z")
    assert layout.window(10_000_000, 26_000_000) == range(64)
    for start, stop in ((9_999_999, 11_000_000), (10_000_000, 26_000_001)):
        with pytest.raises(
            LayoutError, match="1970-01-01T00:00:10Z and ends before 1970-01-01T00:00:26Z"
        ):
            layout.window(start, stop)
    for start in (12_000_000, 11_000_001):
        with pytest.raises(LayoutError, match="ends before it starts"):
            layout.window(start, 11_000_000)
    assert len(layout.window(11_000_001, 11_000_001)) == 0


def test_the_constants_above_the_time_are_in_the_window() -> None:
    layout = Layout.parse("c[1..1]=3 time:4 c[0..0] sequence:2 @1s since 1970-01-01T00:00:00Z")
    assert layout.window(0, 1_000_000) == range(0b1_0000_000, 0b1_0001_000)
    number = layout.pack(time=0, sequence=3)
    assert number in layout.window(0, 1_000_000)
    assert number not in layout.window(1_000_000, 2_000_000)
