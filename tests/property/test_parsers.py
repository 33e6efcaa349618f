"""Every text that people and files bring in: it is read, or refused as theirs to fix.

Texts are random, or valid ones with something changed, since random text alone is refused at the
first character. What is accepted must also mean something: it comes out again as it went in.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
from frazil.alphabet import DIGITS
from frazil.duration import duration_us
from frazil.errors import Misuse
from frazil.finding.search import Search
from frazil.holder import Holder
from frazil.registries import BACKENDS, connect
from frazil.schemes import PRESETS

LAYOUTS = [preset.layout for preset in PRESETS.values()]
URLS = [
    "sqlite:///tmp/x.db?horizon=1s&busy=2s",
    "static:7?state=none",
    "static:env:NAME",
    "redis://user:pass@host:6379/3?replicas=1&timeout=2s",
    "redis://a,b,[::1]:7?horizon=5s",
    "unix:///run/redis.sock?db=1",
    "postgresql://user@host/db?horizon=5s&connect_timeout=3",
    "etcd://a,b:2379,c?horizon=10s",
]


@st.composite
def changed(draw, texts):
    """One of the texts with a few characters replaced, added or left out."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 3))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + cut :]
    return text


def accepted(read, *arguments):
    """What it says; None for what is refused in words for the caller."""
    try:
        return read(*arguments)
    except Misuse:
        return None


@given(st.one_of(st.text(max_size=60), changed(LAYOUTS)))
def test_layouts(text):
    layout = accepted(frazil.Layout.parse, text)
    if layout is not None:
        assert frazil.Layout.parse(str(layout)) == layout


@given(st.one_of(st.text(max_size=30), changed([*PRESETS, *LAYOUTS])))
def test_schemes(text):
    scheme = accepted(frazil.scheme, text)
    if scheme is not None:
        assert frazil.scheme(str(scheme.layout)).layout == scheme.layout


@given(st.sampled_from(sorted(DIGITS)), st.integers(0, 2**64 - 1), st.data())
def test_codecs(encoding, number, data):
    codec = frazil.Codec(encoding, 64)
    valid = codec.encode(number)
    text = data.draw(st.one_of(st.text(max_size=30), changed([valid])))
    found = accepted(codec.decode, text)
    if found is not None:
        assert codec.decode(codec.encode(found)) == found


@given(st.one_of(st.text(max_size=40), changed(URLS)))
def test_urls(text):
    """Nothing is contacted; a password that is refused is not shown either."""
    accepted(connect, text, "default", frazil.scheme())


@pytest.mark.parametrize("kind", sorted(BACKENDS))
@given(rest=st.text(max_size=30))
def test_urls_of_each_kind(kind, rest):
    accepted(connect, f"{kind}:{rest}", "default", frazil.scheme())


@given(st.one_of(st.text(max_size=20), changed(["200ms", "1.5 s", "3d", "10min"])))
def test_durations(text):
    us = accepted(duration_us, text)
    assert us is None or us >= 0


@given(st.one_of(st.text(max_size=30), changed(["db7:4711 1200/s", "db7:4711"])))
def test_holders(text):
    assert str(Holder.parse(text)) == text or not text.isascii()


IDS = ["1423871704681156227", "0x13c1a9d1e5000000", "xfHk3bQ1", "01HYX0V6T3K5G", "order_42"]
LINES = [f'2026-11-21T13:01:08Z level=info id={one} took=3ms "{one}"' for one in IDS]


@given(st.one_of(st.text(max_size=60), changed(IDS), changed(LINES)), st.booleans())
def test_lines_with_ids(text, guess):
    """What ``inspect`` reads: any line of any log."""
    search = Search(frazil.scheme(), 1_795_000_000_000_000, guess=guess)
    found = search.find(text)
    assert all(finding.fits for finding in found)
    assert found or search.explain(text)


@given(changed(LAYOUTS), st.integers(), st.text(max_size=8))
def test_numbers_and_names(text, number, name):
    """Values that do not fit a layout are refused by field, value and limit."""
    layout = accepted(frazil.Layout.parse, text)
    if layout is None:
        return
    values = dict.fromkeys((field.name for field in layout.fields if field.fixed is None), number)
    packed = accepted(lambda: layout.pack(**values))
    if packed is not None:
        read = layout.unpack(packed)
        assert all(read[field] == number for field in values)
    accepted(lambda: layout.pack(**{**values, name: 1}))
    accepted(layout.unpack, number)
