"""The text of a layout: what people type, its one canonical form, and where a wrong word stands."""

import pytest

from frazil.errors import LayoutError
from frazil.layout.layout import Layout


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("  run:3\n sequence:04  ", "run:3 sequence:4"),
        ("run[2..0] sequence:4", "run:3 sequence:4"),
        ("time:9 @1000us since 2020-02-29", "time:9 @1ms since 2020-02-29T00:00:00Z"),
        ("time:9 @0.5ms since 2020-01-01", "time:9 @500us since 2020-01-01T00:00:00Z"),
        ("time:9 @60s since 1969-12-31T23:59:59.5Z", "time:9 @60s since 1969-12-31T23:59:59.500Z"),
        ("time:9 @1s since 0001-01-01T00:00:00Z", "time:9 @1s since 0001-01-01T00:00:00Z"),
        ("c[3..2]~=5 run:4 c[1..0]~", "c[3..2]~=5 run:4 c[1..0]~"),
    ],
)
def test_a_typed_text_has_one_canonical_form(typed: str, canonical: str) -> None:
    assert str(Layout.parse(typed)) == canonical
    assert str(Layout.parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "position", "word"),
    [
        ("time:41 shard-x:4 sequence:3", 9, "shard-x:4"),
        ("time sequence:3", 1, "time"),
        ("run:3 sequence:", 7, "sequence:"),
        ("run:0 sequence:3", 1, "run:0"),
        ("run[0..3] sequence:3", 1, "run[0..3]"),
        ("run[3] sequence:3", 1, "run[3]"),
        ("run:3 mode:1=-1", 7, "mode:1=-1"),
        ("run:3 mode:1=x", 7, "mode:1=x"),
        ("run:3, sequence:3", 1, "run:3,"),
        ("run:٣ sequence:3", 1, "run:٣"),
        ("node.node:3 sequence:3", 1, "node.node:3"),
        ("time.a:3 sequence:3", 1, "time.a:3"),
        ("time:41 @1ms", 9, "@1ms"),
        ("time:41 @1ms after 2020-01-01", 14, "after"),
        ("time:41 @1ms since", 14, "since"),
        ("time:41 @1ms since 2020-01-01 node:4", 31, "node:4"),
        ("time:41 @0ms since ?", 9, "@0ms"),
        ("time:41 @0.5us since ?", 9, "@0.5us"),
        ("time:41 @1min since ?", 9, "@1min"),
        ("time:41 @1 since ?", 9, "@1"),
        ("time:41 @-1ms since ?", 9, "@-1ms"),
        ("time:41 @1ms since 2020-01-01T00:00:00", 20, "2020-01-01T00:00:00"),
        ("time:41 @1ms since 2020-01-01T00:00:00+01:00", 20, "2020-01-01T00:00:00+01:00"),
        ("time:41 @1ms since 2021-02-29", 20, "2021-02-29"),
        ("time:41 @1ms since 0000-01-01", 20, "0000-01-01"),
        ("time:41 @1ms since now", 20, "now"),
    ],
)
def test_a_wrong_word_is_named_with_its_place(text: str, position: int, word: str) -> None:
    with pytest.raises(LayoutError) as caught:
        Layout.parse(text)
    assert (caught.value.position, caught.value.value) == (position, word)
    assert f"character {position}" in str(caught.value)
    assert repr(word) in str(caught.value)


def test_a_text_is_a_str() -> None:
    with pytest.raises(LayoutError, match="not bytes"):
        Layout.parse(b"sequence:3")  # type: ignore[arg-type]
