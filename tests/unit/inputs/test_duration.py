"""Valid and invalid durations."""

from datetime import timedelta

import pytest

import frazil
from frazil.errors import ConfigError
from frazil.inputs.duration import duration_text, duration_us, wait_text

YEARS_US = 36_525 * 86_400_000_000


@pytest.mark.parametrize(
    ("value", "us"),
    [
        ("200ms", 200_000),
        (" 1.5 s ", 1_500_000),
        ("0us", 0),
        ("0", 0),
        (" 0 ", 0),
        ("0.5us", 1),
        ("0.4us", 0),
        ("2 min", 120_000_000),
        ("36525d", YEARS_US),
        (1, 1_000_000),
        (1.5, 1_500_000),
        (0, 0),
        (2.5e-6, 3),
        (timedelta(hours=1), 3_600_000_000),
    ],
)
def test_duration(value, us):
    assert duration_us(value) == us


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1",
        "00",
        "ms",
        "1.s",
        "-1s",
        "1e3s",
        "\N{ARABIC-INDIC DIGIT ONE}s",
        "36526d",
        -1,
        4e9,
        float("nan"),
        float("inf"),
    ],
)
def test_invalid_duration(value):
    for _ in range(2):  # nor is it later
        with pytest.raises(ConfigError, match="lead"):
            duration_us(value, name="lead")


def test_bool_is_not_a_duration():
    assert duration_us(1) == 1_000_000
    assert duration_us(1.0) == 1_000_000
    for answer in (True, False):
        with pytest.raises(ConfigError):
            duration_us(answer)


@pytest.mark.parametrize(
    ("us", "text"), [(0, "0us"), (1_500_000, "1500ms"), (1_000_000, "1s"), (7, "7us")]
)
def test_duration_text(us, text):
    assert duration_text(us) == text
    assert duration_us(text) == us


def test_wait_text():
    assert [wait_text(us) for us in (1, 1_000_000, 1_125_000, 5_625_000)] == [
        "0.1s", "1s", "1.2s", "5.7s",
    ]  # fmt: skip


@pytest.mark.parametrize("url", ["memory:?horizon=0", "memory:?horizon=0ms"])
def test_a_horizon_of_nothing_is_refused(url):
    with pytest.raises(ConfigError, match="horizon= must be longer than zero"):
        frazil.open(url)
