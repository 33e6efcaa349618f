"""Which scheme a number is of: fresh IDs are recognised, and what cannot be is refused."""

from datetime import UTC, datetime

import pytest

from frazil.inputs.duration import UNITS_US
from frazil.reading.guess import fit_of, fits_of, presets, rivals_of
from frazil.reading.spelling import Reading
from frazil.schemes.scheme import names, scheme
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


def test_every_scheme_with_an_epoch_is_tried():
    assert [s.name for s in presets()] == [name for name in names() if name != "chibrary-time"]


def test_small_number_is_a_ticket():
    best, *others = fits_of("12345", presets(), NOW_US)
    assert best.scheme.name == "tickets"
    assert not best.likely
    assert all(fit.refused for fit in others if fit.scheme.layout.axis == "time")


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


def test_an_id_ahead_of_the_clock_is_in_doubt():
    """It was read as Discord's, whose date is a year earlier."""
    s = scheme()
    n = s.pack(time=s.layout.tick_at(NOW_US + 2 * UNITS_US["d"]), node=0, sequence=0)
    best = rivals_of(fits_of(str(n), presets(), NOW_US))
    assert [fit.scheme.name for fit in best] == ["icicle"]
    assert (best[0].refused, best[0].doubt) == ("", "its date would be 2026-07-12, in 2 days")


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


def test_first_week_of_an_epoch_is_refused():
    s = scheme()
    for day, refused in ((6, True), (8, False)):
        n = s.pack(time=day * 86_400_000, node=0, sequence=0)
        assert bool(fit_of(s, Reading("", "decimal", n), NOW_US).refused) is refused


def test_constant_must_be_right():
    fit = fit_of(scheme(), Reading("", "decimal", 1 << 63), NOW_US)
    assert fit.refused == "its sign is 1, not 0"


def test_a_counter_that_is_too_large_is_refused():
    s = scheme("tickets")
    assert not fit_of(s, Reading("", "decimal", (1 << 48) - 1), NOW_US).refused
    assert "no counter" in fit_of(s, Reading("", "decimal", 1 << 48), NOW_US).refused


def test_strict_takes_the_schemes_own_text_only():
    text = made("tsid", NOW_US)
    s = scheme("tsid")
    assert fits_of(text, [s], NOW_US, strict=True)
    assert not fits_of(str(s.parse(text)), [s], NOW_US, strict=True)
    assert fits_of(str(s.parse(text)), [s], NOW_US)
