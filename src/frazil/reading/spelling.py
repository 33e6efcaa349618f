"""Readings: which numbers a text may stand for, when nobody says how it was written.

A codec is strict: it knows its encoding and refuses every other text. Whoever pastes an ID from a
log knows only that it is one. So here a text is held against every encoding in turn, each as strict
as ever but for what other programs do to numbers on the way: hex in capitals or after ``0x``, and
unsigned numbers that a signed column or language shows as negative ones. Several encodings may take
the same text; which reading is likely is for ``guess``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from frazil.errors import CodecError
from frazil.schemes.alphabet import DIGITS, worth
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme

__all__ = ["Reading", "read_as", "readings", "words"]

_WORD = re.compile(r"(?:(?<![\w])-)?\w+[*~$=]?", re.ASCII)
_CHECK_MARKS = "*~$="
_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9]*_(?:[A-Za-z0-9]+_)*)?", re.ASCII)
_SIGNED = re.compile(r"-[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a number: how it is written, and the prefix that it carries."""

    text: str
    encoding: str
    number: int
    prefix: str = ""
    check: bool = False

    @property
    def manner(self) -> str:
        """The encoding in words."""
        return self.encoding + " with a check character" * self.check


@lru_cache(maxsize=256)
def readings(text: str, bits: int) -> tuple[Reading, ...]:
    """Every way to read ``text`` as a number of ``bits`` bits; none for what is no ID."""
    if bits == 64 and _SIGNED.fullmatch(text):
        number = (1 << 64) + int(text)
        return (Reading(text, "decimal", number),) if number >> 63 == 1 else ()
    head, underscore, body = text.rpartition("_")
    prefix = head + underscore
    if not _PREFIX.fullmatch(prefix):
        return ()
    if body[:2] in {"0x", "0X"} and body[2:]:
        codec = _codec("hex", bits)
        digits = body[2:].lower().rjust(codec.width or 0, "0")
        return tuple(_read(text, prefix, digits, codec))
    found = []
    for encoding in DIGITS:
        written = body.lower() if encoding == "hex" else body
        found += _read(text, prefix, written, _codec(encoding, bits))
    return (*found, *_read(text, prefix, body, _codec("base32", bits, check=True)))


def read_as(text: str, scheme: Scheme) -> list[Reading]:
    """The one reading of ``text`` that the scheme's own codec allows, or none."""
    codec = scheme.codec
    return [
        Reading(text, codec.encoding, found.number, codec.prefix, codec.check)
        for found in _read(text, "", text, codec)
    ]


def words(line: str) -> Iterator[str]:
    """What in a line may be the text of an ID, each once: words, and numbers with their sign."""
    seen = set()
    for match in _WORD.finditer(line):
        for word in (match[0], match[0].rstrip(_CHECK_MARKS), match[0].lstrip("-")):
            if word and word not in seen:
                seen.add(word)
                yield word


def _read(text: str, prefix: str, body: str, codec: Codec) -> list[Reading]:
    # Most words of a log are of another length or alphabet. An error for each, with its drawing,
    # would take most of the time.
    if codec.width is not None and len(body) != len(codec.prefix) + codec.width + codec.check:
        return []
    if not (codec.prefix or codec.check or worth(codec.encoding).keys() >= set(body)):
        return []
    try:
        number = codec.decode(body)
    except CodecError:
        return []
    return [Reading(text, codec.encoding, number, prefix, codec.check)]


@cache
def _codec(encoding: str, bits: int, *, check: bool = False) -> Codec:
    return Codec(encoding, bits, check=check)
