"""Guessing: of which scheme a number is an ID.

Sixty-four bits decode under every layout of sixty-four bits, and all but one of the results are
nonsense that looks like an answer. What tells them apart is how *neat* a reading is: made a minute
ago, the first of its sequence. A scheme has few IDs as neat as that, next to all the texts that
could stand there instead, so a neat reading is no accident. The score is how many times fewer, in
bits: log2 of (texts of this length) less log2 of (IDs of this scheme as near to now, on any node,
with no higher a sequence or run). Constants make a scheme's IDs few and so speak for it by
themselves, and a wide node field makes them many.

Refused outright: a constant that is not the layout's, a moment before 2005 or more than a day
ahead, one in the first week of the epoch (all small numbers lie there), and a counter that nobody
can have counted to. The scheme's own encoding counts 4 bits, a convention. Limits: an old ID is not
neat, and of schemes that share a cut, as icicle and snowflake do, the epochs alone decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import log2

from frazil.inputs.duration import UNITS_US, ago
from frazil.layout.values import Values
from frazil.reading.spelling import Reading, read_as, readings
from frazil.schemes.scheme import PRESETS, Scheme
from frazil.schemes.scheme import scheme as make_scheme
from frazil.system.clock import moment_text, to_us

__all__ = ["LIKELY_BITS", "Fit", "fit_of", "fits_of", "presets"]

LIKELY_BITS = 12.0
"""A score that one random text in 4,096 reaches."""

_OWN_ENCODING_BITS = 4.0
_NEAT_BITS = 4  # leading zeros that are worth a word
_OLDEST_US = to_us(datetime(2005, 1, 1, tzinfo=UTC))
_AHEAD_US = UNITS_US["d"]
_FIRST_USE_US = 7 * UNITS_US["d"]
_COUNTED_BITS = 48
_DEPLOYED = {"cluster"}  # constants whose value each deployment chooses


@dataclass(frozen=True)
class Fit:
    """A reading under a scheme. ``refused`` says why it cannot be one; else ``score`` in bits."""

    scheme: Scheme
    reading: Reading
    values: Values
    score: float
    reasons: tuple[str, ...]
    refused: str = ""

    @property
    def own(self) -> bool:
        """Whether it is written as the scheme writes."""
        return self.reading.encoding == self.scheme.encoding

    @property
    def likely(self) -> bool:
        """Whether a word in the middle of a text may be taken for this."""
        return not self.refused and self.score >= LIKELY_BITS


@cache
def presets() -> tuple[Scheme, ...]:
    """The schemes that have a name and an epoch, in the order of their table."""
    return tuple(make_scheme(n) for n in PRESETS if not PRESETS[n].layout.endswith("since ?"))


def fits_of(
    text: str, schemes: Iterable[Scheme], now_us: int, *, strict: bool = False
) -> list[Fit]:
    """The best fit of ``text`` under each scheme that can read it: the likely first, refused last.

    ``strict`` takes only the text that the scheme itself writes.
    """
    best = []
    for scheme in schemes:
        found = read_as(text, scheme) if strict else readings(text, scheme.bits)
        fits = [fit_of(scheme, reading, now_us) for reading in found]
        if fits:
            best.append(min(fits, key=_order))
    return sorted(best, key=_order)


def fit_of(scheme: Scheme, reading: Reading, now_us: int) -> Fit:
    """How well a reading fits a scheme, by the clock ``now_us`` (µs since 1970)."""
    values = scheme.unpack(reading.number)
    adopted = _DEPLOYED.intersection(values.foreign)
    if adopted:
        scheme = scheme.with_fields(**{name: values[name] for name in adopted})
        values = scheme.unpack(reading.number)
    refused = _impossible(scheme, values, now_us)
    layout = scheme.layout
    as_neat, reasons = float(layout.bits_of("node")), []
    if values.moment_us is not None:
        as_neat += log2(abs(now_us - values.moment_us) // (layout.tick_us or 1) + 1)
        reasons.append(f"made {ago(values.moment_us, now_us)}")
    for name in ("run", "sequence"):
        bits = layout.bits_of(name)
        if bits:
            as_neat += log2(values[name] + 1)
            if values[name] >> max(0, bits - _NEAT_BITS) == 0:
                reasons.append(f"{name} {values[name]:,}")
    reasons += [f"{name} is {values[name]}" for name in layout.fixed if name not in adopted]
    score = _texts_bits(scheme, reading) - as_neat
    if reading.encoding == scheme.encoding:
        score += _OWN_ENCODING_BITS
        reasons += [f"{reading.manner} is its encoding"] * (reading.encoding != "decimal")
    return Fit(scheme, reading, values, score, tuple(reasons), refused)


def _texts_bits(scheme: Scheme, reading: Reading) -> float:
    """log2 of how many texts of this length and encoding there are."""
    if reading.encoding == "decimal":
        return len(str(reading.number)) * log2(10)
    return scheme.bits


def _impossible(scheme: Scheme, values: Values, now_us: int) -> str:
    """Why these cannot be the values of an ID of the scheme; "" if they can."""
    for name in values.foreign:
        return f"its {name} is {values[name]}, not {scheme.layout.fixed[name]}"
    if scheme.layout.axis == "sequence" and values["sequence"] >> _COUNTED_BITS:
        return f"no counter comes to {values['sequence']:,}"
    us = values.moment_us
    if us is None:
        return ""
    when = f"it would be of {moment_text(us).partition('T')[0]}"
    if us > now_us + _AHEAD_US:
        return f"{when}, {ago(us, now_us)}"
    if us < _OLDEST_US:
        return f"{when}, before such IDs were made"
    if us < (scheme.layout.epoch_us or 0) + _FIRST_USE_US:
        return f"{when}, in the first week of its epoch"
    return ""


def _order(fit: Fit) -> tuple[bool, float]:
    # Python's sort is stable: on a tie the order of the table stands. Refused readings too have
    # an order, so that of two the scheme's own encoding is shown.
    return bool(fit.refused), -fit.score
