"""Drawings: exact text for small layouts, and what must hold for every one."""

import re
from xml.etree import ElementTree as ET

import pytest

from frazil.layout.drawing import COLOURS, draw, draw_spans, spans, svg
from frazil.layout.layout import Layout

SMALL = Layout.parse("sign:1=0 time:12 node[3..2] sequence:3 node[1..0] @1s since 1970-01-01")
SPREAD = Layout.parse(
    "time:42~ sequence:6 node[10..8] mode:1=0 node[7..0] cluster:4=0 @1ms since 1970-01-01"
)
WIDE = Layout.parse("zero:20=0 node:20 time:71 sequence:17 @1ms since 1970-01-01")
DISCORD = Layout.parse("time:42 node.worker:5 node.process:5 sequence:12 @1ms since 2015-01-01")
SVG = "{http://www.w3.org/2000/svg}"


def test_an_id_drawn_and_its_layout() -> None:
    number = SMALL.pack(sign=1, time=61, node=0b1001, sequence=5)
    drawn = """\
  19     18             6      4          1
┌──────┬──────────────┬──────┬──────────┬──────┐
│ sign │ time         │ node │ sequence │ node │
│ 1    │ 12           │ 3..2 │ 3        │ 1..0 │
│ 1    │ 000000111101 │ 10   │ 101      │ 01   │
└──────┴──────────────┴──────┴──────────┴──────┘

sign      1 (not 0, as in this layout)
time      61 = 1970-01-01T00:01:01Z
node      9
sequence  5"""
    assert draw(SMALL, number) == drawn
    lines = drawn.splitlines()
    assert draw(SMALL).splitlines() == [*lines[:4], lines[5]]


def test_a_piece_wider_than_a_row_is_cut() -> None:
    assert (
        draw(Layout.parse("sequence:20"), 0b1011_0110_0001_1110_0101, width=16)
        == """\
  19
┌──────────────┐
│ sequence     │
│ 19..8        │
│ 101101100001 │
└──────────────┘
  7
┌──────────┐
│ sequence │
│ 7..0     │
│ 11100101 │
└──────────┘

sequence  745957"""
    )


@pytest.mark.parametrize("layout", [SMALL, SPREAD, WIDE, DISCORD], ids=str)
@pytest.mark.parametrize("width", [1, 16, 40, 79, 100, 300])
def test_every_bit_is_drawn_once_and_rows_keep_the_width(layout: Layout, width: int) -> None:
    number = (0x9E3779B97F4A7C15 << 64 | 0xF39CC0605CEDC835) & ((1 << layout.bits) - 1)
    lines = draw(layout, number, width=width).split("\n\n")[0].splitlines()
    bits = "".join(re.sub("[^01]", "", line) for line in lines[4::6])
    assert int(bits, 2) == number
    assert len(bits) == layout.bits
    if width >= 16:
        assert max(map(len, lines)) <= width
    if width >= 300:
        assert len(lines) == 6


@pytest.mark.parametrize("number", [None, SMALL.pack(time=61, node=9, sequence=5)])
def test_an_svg_is_complete_and_has_a_description(number: int | None) -> None:
    root = ET.fromstring(svg(SMALL, number))
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert str(SMALL) in (desc.text or "")
    assert number is None or f"ID {number}" in (title.text or "")
    assert number is None or "node 9" in (desc.text or "")
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts[:5] == ["19", "sign", "1", "0", "18"] if number else ["19", "sign", "1", "18"]
    kinds = [rect.get("class") for rect in root.iter(f"{SVG}rect")]
    assert kinds == ["ground", "fixed", "time", "node", "sequence", "node"]
    assert "http" not in svg(SMALL, number).replace("http://www.w3.org/2000/svg", "")


def luminance(colour: str) -> float:
    """Relative luminance by the Web Content Accessibility Guidelines 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["plain", "quiet"])
@pytest.mark.parametrize("under", [name for name in COLOURS if name not in ("plain", "quiet")])
def test_text_is_readable_on_every_colour(under: str, text: str, shade: int) -> None:
    low, high = sorted(luminance(COLOURS[name][shade]) for name in (under, text))
    assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize("width", [20, 60, 80, 100])
@pytest.mark.parametrize("layout", [WIDE, DISCORD], ids=str)
def test_parts_without_a_layout_are_drawn_alike(layout: Layout, width: int) -> None:
    n = layout.id_max // 3
    drawing = draw(layout, n, width=width).partition("\n\n")[0]
    assert draw_spans(spans(layout, n), width=width) == drawing
