"""KSUIDs: 32 bits of seconds since May 2014 and a random payload of 128 bits, in 27 characters."""

import re

from frazil.errors import CodecError
from frazil.layout.field import Role
from frazil.reading.foreign.identifier import Foreign, cut
from frazil.schemes.alphabet import number_of, text_of

__all__ = ["of_number", "read"]

_EPOCH_S = 1_400_000_000
_BITS = 160
_CHARACTERS = 27
_TEXT = re.compile(rf"[0-9A-Za-z]{{{_CHARACTERS}}}", re.ASCII)
_PIECES: list[tuple[str, Role, int, bool]] = [
    ("timestamp", "time", 32, True),
    ("payload", "node", 128, False),
]


def read(text: str) -> Foreign | None:
    """The KSUID of a text of 27 letters and digits; None for another text.

    Raises CodecError for a number of more than 160 bits.
    """
    if not _TEXT.fullmatch(text):
        return None
    number = number_of(text, "base62")
    if number >> _BITS:
        most = text_of((1 << _BITS) - 1, "base62", _CHARACTERS)
        raise CodecError(
            f"{text!r} has the form of a KSUID, but is larger than {most}, the largest", text=text
        )
    return of_number(number, text, "base62")


def of_number(number: int, text: str, written: str) -> Foreign:
    """The KSUID with these 160 bits."""
    texts = {"base62": text_of(number, "base62", _CHARACTERS), "hex": f"{number:040x}"}
    us = ((number >> 128) + _EPOCH_S) * 1_000_000
    parts = cut(number, _PIECES)
    return Foreign("KSUID", text, written, texts["base62"], number, parts, texts, us)
