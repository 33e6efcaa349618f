"""Texts of layouts and schemes, compared with a reading that only splits at spaces."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

import frazil
from evidence.fuzz.accepted import accepted
from frazil.layout.drawing import draw
from frazil.schemes.presets import PRESETS
from frazil.schemes.shuffle import Shuffle
from frazil.system.clock import EPOCH, moment_text

__all__ = ["check_epoch", "check_layout", "check_scheme", "check_shuffle"]

_US = timedelta(microseconds=1)
_OFFSET = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)\Z", re.ASCII)
_DAY_US = 86_400_000_000


class _Word(NamedTuple):
    label: str
    high: int
    low: int
    turned: bool
    value: int | None


def check_layout(text: str) -> None:
    """A layout has the pieces, tick and epoch that its words say, and its text means the same."""
    layout = accepted(frazil.Layout.parse, text)
    if layout is None:
        return
    words = text.split()
    end = next((i for i, word in enumerate(words) if word[0] == "@"), len(words))
    pieces = [(p.label, p.high, p.low, p.reversed, p.value) for p in layout.pieces]
    assert pieces == [_word(word) for word in words[:end]]
    if words[end:]:
        tick, since, epoch = words[end:]
        assert since == "since"
        assert layout.tick_us == _tick_us(tick)
        assert layout.epoch_us == (None if epoch == "?" else _moment_us(epoch))
    else:
        assert layout.tick_us is layout.epoch_us is None
    assert frazil.Layout.parse(str(layout)) == layout
    for bit in (0, 1):
        values = {f.name: f.limit * bit for f in layout.fields if f.fixed is None}
        number = layout.pack(**values)
        assert layout.unpack(number).items() >= values.items()
        draw(layout, number)


def check_scheme(text: str) -> None:
    """A name is that of a preset; any other text is a layout string, and means that layout."""
    scheme = accepted(frazil.scheme, text)
    if scheme is None:
        return
    assert scheme.name == (text if text in PRESETS else "custom")
    layout = PRESETS[text].layout if text in PRESETS else text
    assert scheme.layout == frazil.Layout.parse(layout)
    assert scheme.parse(scheme.format(0)) == 0


def check_epoch(text: str) -> None:
    """An epoch is a date, or a moment with its offset; no time zone is guessed."""
    scheme = accepted(frazil.scheme, epoch=text)
    if scheme is None:
        return
    us = scheme.layout.epoch_us
    assert us % _DAY_US == 0 or _OFFSET.search(text), "a time of day without its offset"
    assert frazil.scheme(epoch=moment_text(us)).layout == scheme.layout


def check_shuffle(text: str) -> None:
    """A shuffle moves every bit to a different place, and its text means the same shuffle."""
    for bits in (3, 64):
        shuffle = accepted(Shuffle.parse, text, bits)
        if shuffle is None:
            continue
        places = [shuffle.apply(1 << bit) for bit in range(bits)]
        assert sorted(places) == [1 << bit for bit in range(bits)]
        assert [shuffle.invert(place) for place in places] == [1 << bit for bit in range(bits)]
        assert Shuffle.parse(shuffle.text, bits) == shuffle


def _word(word: str) -> _Word:
    name, equals, value = word.partition("=")
    turned = name.endswith("~")
    name = name.removesuffix("~")
    label, colon, bits = name.partition(":")
    if colon:
        high, low = int(bits) - 1, 0
    else:
        label, _, extent = name.removesuffix("]").partition("[")
        high, low = map(int, extent.split(".."))
    return _Word(label, high, low, turned, int(value) if equals else None)


def _tick_us(word: str) -> Fraction:
    number, unit = re.split(r"(?=[a-z])", word[1:], maxsplit=1)
    return Fraction(number) * {"us": 1, "ms": 1000, "s": 1_000_000}[unit]


def _moment_us(text: str) -> int:
    forms = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ")
    form = forms[("T" in text) + ("." in text)]
    return (datetime.strptime(text, form).replace(tzinfo=UTC) - EPOCH) // _US
