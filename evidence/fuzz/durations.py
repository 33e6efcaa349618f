"""Durations and the names of holders, compared with exact fractions and their own texts."""

from fractions import Fraction

from evidence.fuzz.accepted import accepted
from frazil.claims.holder import Holder
from frazil.inputs.duration import duration_text, duration_us

__all__ = ["check_duration", "check_holder"]

_UNITS_S: dict[str, Fraction | int] = {
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": 1,
    "min": 60,
    "h": 60 * 60,
    "d": 24 * 60 * 60,
}


def check_duration(text: str) -> None:
    """A duration is its number times its unit, to the nearest microsecond, a half upwards.

    Only "0" needs no unit.
    """
    us = accepted(duration_us, text)
    if us is None or text.strip() == "0":
        assert not us
        return
    number = text.strip().rstrip("".join(_UNITS_S))
    unit = text.strip()[len(number) :]
    exact = Fraction(number.strip()) * 1_000_000 * _UNITS_S[unit]
    assert us == (2 * exact + 1) // 2
    assert duration_us(duration_text(us)) == us


def check_holder(text: str) -> None:
    """Any holder of a claim can be parsed, and is shown unchanged."""
    assert str(Holder.parse(text)) == text
