"""Which scheme a number is of, and which words of a log are IDs.

Fresh IDs are recognised, what cannot be is refused, and nothing else in a line is taken for one.
"""

from datetime import UTC, datetime

import pytest

from frazil.inputs.duration import UNITS_US
from frazil.reading.guess import Reading, fit_of, fits_of, presets, rivals_of
from frazil.reading.search import Search
from frazil.schemes.scheme import scheme
from frazil.system.clock import to_us

NOW_US = to_us(datetime(2026, 7, 10, 12, tzinfo=UTC))
TIMED = [s.name for s in presets() if s.layout.axis == "time"]


def made(name: str, us: int, node: int = 5, sequence: int = 9) -> str:
    s = scheme(name)
    node %= s.layout.nodes  # a layout may have no node
    return s.format(s.pack(time=s.layout.tick_at(us), node=node, sequence=sequence))


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("age_s", [1, 60, 86_400, 30 * 86_400])
def test_fresh_id_is_recognised(name, age_s):
    best = fits_of(made(name, NOW_US - age_s * 1_000_000), presets(), NOW_US)[0]
    assert best.scheme.name == name
    assert best.likely
    assert any("ago" in reason for reason in best.reasons)


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (NOW_US + 800 * UNITS_US["d"], "in 2 years"),
        (to_us(datetime(2004, 12, 31, tzinfo=UTC)), "before such IDs"),
        (NOW_US + UNITS_US["d"] // 2, ""),
    ],
)
def test_moment_must_be_possible(us, words):
    s = scheme("uniqueid-sequential")
    n = s.pack(time=s.layout.tick_at(us), node=0, sequence=0)
    fit = fit_of(s, Reading("", "hex", n), NOW_US)
    assert words in fit.refused
    assert bool(fit.refused) == bool(words)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("580782912222633985", "snowflake"),  # Twitter's, of 2015
        ("175928847299117063", "discord"),  # of 2016, in Discord's documentation
    ],
)
def test_rivals_are_all_readings_that_the_evidence_does_not_tell_apart(text, right):
    found = [fit.scheme.name for fit in rivals_of(fits_of(text, presets(), NOW_US))]
    assert {right, "icicle", "discord", "snowflake"} <= set(found)


NOISE = (
    "2026-07-10T12:00:00.123Z INFO web-7 [4bf92f3577b34da6] 10.0.0.12:8080 application connection1 "
    "authorization ts=1783680000 ms=1783680000123 us=1783680000123456 took=12.5ms "
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
)


def issued(name: str = "icicle", ago_s: int = 60, sequence: int = 0, **options: str) -> str:
    s = scheme(name, **options)
    tick = s.layout.tick_at(NOW_US - ago_s * 1_000_000)
    return s.format(s.pack(time=tick, node=1, sequence=sequence))


def found(search: Search, line: str) -> list[str]:
    return [finding.fits[0].reading.text for finding in search.find(line)]


def test_noise_contains_no_id():
    assert found(Search(scheme(), NOW_US), NOISE) == []
    assert found(Search(scheme(), NOW_US, guess=True), NOISE) == []


def test_old_id_of_the_scheme_is_found_in_noise():
    text = issued(ago_s=9 * 365 * 86_400)
    assert found(Search(scheme(), NOW_US), f"{NOISE} id={text}") == [text]


def test_other_schemes_are_found_when_the_default_is_not_there():
    text = issued("tsid", prefix="order_")
    (finding,) = Search(scheme(), NOW_US).find(f"{NOISE} {text}")
    assert finding.guessed
    assert finding.fits[0].scheme.name == "tsid"
    assert found(Search(scheme(), NOW_US), f"{text} {issued()}") == [text, issued()]


def test_named_scheme_is_the_only_one():
    search = Search(scheme("tsid"), NOW_US, named=True)
    assert found(search, issued("discord", ago_s=8 * 365 * 86_400, sequence=3000) + " x") == []
    assert found(search, f"{NOISE} {issued('tsid')}") == [issued("tsid")]
