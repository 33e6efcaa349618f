"""Readings: the numbers that a text of unknown encoding may represent.

A codec is strict: it has one encoding and rejects every other text. The encoding of an ID in a log
is often unknown. So a text is decoded in every encoding. Also accepted are the changes that other
programs make to numbers: hex in capitals or with ``0x``, and unsigned numbers that a signed column
or language shows as negative. If several encodings accept a text, ``guess`` ranks the readings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain

from frazil.errors import CodecError
from frazil.schemes.alphabet import digit_values, encodings_of
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme

_WORD = re.compile(
    r"(?:[A-Za-z]\w*_)?\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"
    r"|(?:(?<![\w])-)?\w+[*~$=]?",
    re.ASCII,
)
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
    return (*found, *_read(text, prefix, body, _codec("base32", bits, check=True)))


def read_as(text: str, scheme: Scheme) -> list[Reading]:
    """The reading of ``text`` by the scheme's own codec, if it is valid."""
    return _read(text, scheme.codec.prefix, text, scheme.codec)


def words(line: str) -> Iterator[str]:
    """The parts of a line that may be an ID, each once: words, and numbers with their sign."""
    found = (match[0] for match in _WORD.finditer(line))
    forms = ((word, word.rstrip(_CHECK_MARKS), word.lstrip("-")) for word in found)
    return filter(None, dict.fromkeys(chain.from_iterable(forms)))


def _read(text: str, prefix: str, body: str, codec: Codec) -> list[Reading]:
    # Most words of a log have another length or alphabet. A CodecError for each would take most of
    # the time.
    if codec.width is not None and len(body) != len(codec.prefix) + codec.width + codec.check:
        return []
    plain = not (codec.prefix or codec.check or codec.encoding == "uuid")
    if plain and not digit_values(codec.encoding).keys() >= set(body):
        return []
    try:
        number = codec.decode(body)
    except CodecError:
        return []
    return [Reading(text, codec.encoding, number, prefix, codec.check)]


@cache
def _codec(encoding: str, bits: int, *, check: bool = False) -> Codec:
    return Codec(encoding, bits, check=check)
