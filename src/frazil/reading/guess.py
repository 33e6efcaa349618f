"""Guessing the encoding and the scheme of an ID.

A codec is strict: it has one encoding and rejects every other text. The encoding of an ID in a log
is often unknown. So a text is decoded in every encoding, also with the changes that other programs
make to numbers: hex in capitals or with ``0x``, and unsigned numbers that a signed column or
language shows as negative. If several encodings or schemes accept it, the readings are ranked.

Every layout of 64 bits decodes every number of 64 bits, and all results but one are wrong. The
right one is *neat*: made a minute ago, say, and the first of its sequence. A scheme has few IDs
that are as neat, compared with all texts of that length, so a neat reading is probably right. The
score is the ratio in bits: log2 of the number of texts of this length, less log2 of the number of
IDs of this scheme that are as near to now, on any node, with no greater sequence or run. Constants
make a scheme's IDs fewer and so raise its score; a wide node field lowers it.

A reading is refused if a constant differs from the layout's. It is refused if its moment is before
2005, more than a year ahead, or in the first week of the epoch (where all small numbers are). A
reading that is more than a day ahead is in doubt: a host's clock may have been wrong. It is also
refused if its counter or its node number is too large to have been reached, which distinguishes
frazil's UUIDs from those with random bits. The scheme's own encoding adds 4 bits, by convention.
Limits: an old ID is not neat, and schemes with the same fields, like icicle and snowflake, differ
only by their epochs.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from math import log2

from frazil.errors import CodecError
from frazil.inputs.duration import UNITS_US, ago
from frazil.layout.values import Values
from frazil.reading.foreign import AHEAD_MAX_US, OLDEST_US, date_text
from frazil.schemes.alphabet import digit_values, encodings_of
from frazil.schemes.codec import Codec
from frazil.schemes.grouped import GroupedCodec
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as make_scheme

_WORD = re.compile(
    r"(?:[A-Za-z]\w*_)?\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"
    r"|(?:(?<![\w])-)?\w+[*~$=]?",
    re.ASCII,
)
_GROUPS = re.compile(r"(?<![\w-])\w+(?:-\w+)+[*~$=]?", re.ASCII)
_DATE_CHARACTERS = len("2026-11-28")
_CHECK_MARKS = "*~$="
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9]*_(?:[A-Za-z0-9]+_)*)?", re.ASCII)
_SIGNED = re.compile(r"-[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a number, with its encoding and its prefix."""

    text: str
    encoding: str
    number: int
    prefix: str = ""
    check: bool = False

    @property
    def encoding_text(self) -> str:
        """The encoding, as shown to users."""
        return self.encoding + " with a check character" * self.check


@lru_cache(maxsize=256)
def readings(text: str, bits: int) -> tuple[Reading, ...]:
    """All readings of ``text`` as a number of ``bits`` bits."""
    if bits == 64 and _SIGNED.fullmatch(text):
        number = (1 << 64) + int(text)
        return (Reading(text, "decimal", number),) if number >> 63 == 1 else ()
    name, underscore, body = text.rpartition("_")
    prefix = name + underscore
    if not _PREFIX.fullmatch(prefix):
        return ()
    found = []
    if body[:2] in {"0x", "0X"} and body[2:]:  # which base32 can begin with too
        codec = _codec("hex", bits)
        digits = body[2:].lower().rjust(codec.width or 0, "0")
        found += _read(text, prefix, digits, codec)
    for encoding in encodings_of(bits):
        digits = body.lower() if encoding in {"hex", "uuid"} else body
        found += _read(text, prefix, digits, _codec(encoding, bits))
    found += _read(text, prefix, body, _codec("base32", bits, check=True))
    if "-" in body and len(body) > _DATE_CHARACTERS:  # in groups; digits alone are in others too
        for encoding, check in (("base32", False), ("base32", True), ("decimal", True)):
            found += _read(text, prefix, body, _codec(encoding, bits, check=check, group=4))
    elif not found:
        found += _read(text, prefix, body, _codec("decimal", bits, check=True))
    return tuple(found)


def words(line: str) -> Iterator[str]:
    """The parts of a line that may be an ID, each once: words, numbers with their sign, groups."""
    found = (match[0] for match in _WORD.finditer(line))
    forms = ((word, word.rstrip(_CHECK_MARKS), word.lstrip("-")) for word in found)
    groups = (match[0] for match in _GROUPS.finditer(line))
    return filter(None, dict.fromkeys(chain(chain.from_iterable(forms), groups)))


def _read(text: str, prefix: str, body: str, codec: Codec) -> list[Reading]:
    # Most words of a log have another length or alphabet. A CodecError for each would take most of
    # the time.
    if len(body) > codec.length or (codec.width is not None and len(body) != codec.length):
        return []
    plain = type(codec) is Codec and not (codec.prefix or codec.check or codec.encoding == "uuid")
    if plain and not digit_values(codec.encoding).keys() >= set(body):
        return []
    try:
        number = codec.decode(body)
    except CodecError:
        return []
    return [Reading(text, codec.encoding, number, prefix, codec.check)]


@cache
def _codec(encoding: str, bits: int, *, check: bool = False, group: int = 0) -> Codec:
    codec = Codec(encoding, bits, check=check)
    if group == 0:
        return codec
    return GroupedCodec(encoding, bits, check=check, inner=codec, group=group)


LIKELY_BITS = 12.0  # a score that one random text in 4,096 reaches
_OWN_ENCODING_BITS = 4.0
_NEAT_BITS = 4  # the least number of leading zeros that is a reason
_CLOCK_AHEAD_MAX_US = 366 * UNITS_US["d"]
_NEAR_BITS = 4.0  # a reading that is weaker by less than this could still be right
_AFTER_EPOCH_MIN_US = 7 * UNITS_US["d"]
_COUNTER_BITS = 48
_NODE_BITS = 24
_DEPLOYMENT_CONSTANTS = {"cluster"}  # each deployment chooses their values


@dataclass(frozen=True)
class Fit:
    """A reading as an ID of a scheme, with a ``score`` in bits.

    refused: why it cannot be one. doubt: why it may be none although it is not refused.
    """

    scheme: Scheme
    reading: Reading
    values: Values
    score: float
    reasons: tuple[str, ...]
    refused: str = ""
    doubt: str = ""

    @property
    def own(self) -> bool:
        """Whether it has the scheme's own encoding."""
        return self.reading.encoding == self.scheme.encoding

    @property
    def likely(self) -> bool:
        """Whether a word in a line can be taken for this ID."""
        return not self.refused and self.score >= LIKELY_BITS


@cache
def presets() -> tuple[Scheme, ...]:
    """The named schemes that have an epoch, in the order of ``PRESETS``."""
    return tuple(make_scheme(n) for n in PRESETS if not PRESETS[n].layout.endswith("since ?"))


def fits_of(
    text: str, schemes: Iterable[Scheme], now_us: int, *, strict: bool = False
) -> list[Fit]:
    """The best fit of ``text`` for each scheme that can read it, the best first, refused ones last.

    ``strict`` accepts only the scheme's own encoding, prefix and check character.
    """
    best = []
    for scheme in schemes:
        if strict:
            found = _read(text, scheme.codec.prefix, text, scheme.codec)
        else:
            found = list(readings(text, scheme.bits))
        fits = [fit_of(scheme, reading, now_us) for reading in found]
        if fits:
            best.append(min(fits, key=_order))
    return sorted(best, key=_order)


def fit_of(scheme: Scheme, reading: Reading, now_us: int) -> Fit:
    """How well a reading fits a scheme at ``now_us`` (µs since 1970)."""
    values = scheme.unpack(reading.number)
    adopted = _DEPLOYMENT_CONSTANTS.intersection(values.foreign)
    if adopted:
        scheme = scheme.with_fields(**{name: values[name] for name in adopted})
        values = scheme.unpack(reading.number)
    doubt = contradiction(scheme, values, now_us)
    refused = _refusal(scheme, values, now_us, doubt)
    layout = scheme.layout
    neat_ids_bits, reasons = float(layout.bits_of("node")), []
    if values.moment_us is not None:
        neat_ids_bits += log2(abs(now_us - values.moment_us) // (layout.tick_us or 1) + 1)
        reasons.append(f"made {ago(values.moment_us, now_us)}")
    for name in ("run", "sequence"):
        bits = layout.bits_of(name)
        if bits:
            neat_ids_bits += log2(values[name] + 1)
            if values[name] >> max(0, bits - _NEAT_BITS) == 0:
                reasons.append(f"{name} {values[name]:,}")
    reasons += [f"{name} is {values[name]}" for name in layout.fixed if name not in adopted]
    decimal = reading.encoding == "decimal"
    texts_bits = len(str(reading.number)) * log2(10) if decimal else scheme.bits
    score = texts_bits - neat_ids_bits
    if reading.encoding == scheme.encoding:
        score += _OWN_ENCODING_BITS
        reasons += [f"{reading.encoding_text} is its encoding"] * (not decimal)
    return Fit(scheme, reading, values, score, tuple(reasons), refused, "" if refused else doubt)


def rivals_of(fits: Iterable[Fit]) -> list[Fit]:
    """The fit with the highest score, and all that are nearly as good; none if all are refused."""
    plausible = sorted((fit for fit in fits if not fit.refused), key=_order)
    return [fit for fit in plausible if fit.score > plausible[0].score - _NEAR_BITS]


def _refusal(scheme: Scheme, values: Values, now_us: int, doubt: str) -> str:
    """The reason why no ID of the scheme has these values; "" if one can."""
    if values.foreign or (values.moment_us or 0) > now_us + _CLOCK_AHEAD_MAX_US:
        return doubt
    if scheme.layout.axis == "sequence" and values["sequence"] >> _COUNTER_BITS:
        return f"no counter reaches {values['sequence']:,}"
    if scheme.layout.bits_of("node") > _NODE_BITS and values["node"] >> _NODE_BITS:
        return f"no node number reaches {values['node']:,}"
    us = values.moment_us
    if us is None:
        return ""
    if us < OLDEST_US:
        return f"{date_text(us)}, before such IDs existed"
    if us < (scheme.layout.epoch_us or 0) + _AFTER_EPOCH_MIN_US:
        return f"{date_text(us)}, in the first week of its epoch"
    return ""


def contradiction(scheme: Scheme, values: Values, now_us: int) -> str:
    """The reason why no generator of the scheme has made these values by now; "" if one may have.

    It is certain, where the other reasons of a refusal are about what is plausible for a guess.
    """
    for name in values.foreign:
        return f"its {name} is {values[name]}, not {scheme.layout.fixed[name]}"
    us = values.moment_us
    if us is not None and us > now_us + AHEAD_MAX_US:
        return f"{date_text(us)}, {ago(us, now_us)}"
    return ""


def _order(fit: Fit) -> tuple[bool, float]:
    # The sort is stable: a tie keeps the order of ``PRESETS``. Refused readings are ordered too,
    # so that the scheme's own encoding is shown.
    return bool(fit.refused), -fit.score
