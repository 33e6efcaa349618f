"""Which scheme a number is of: fresh IDs are recognised, and what cannot be is refused."""

from datetime import UTC, datetime

import pytest

from frazil.inputs.duration import UNITS_US
from frazil.reading.guess import Reading, fit_of, fits_of, presets, rivals_of
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
