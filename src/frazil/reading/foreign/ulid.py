"""ULIDs: 48 bits of milliseconds since 1970 and 80 random bits, in 26 characters of base32.

Letters of either case are read. The first character is at most 7, because 26 characters hold 130
bits.
"""

from frazil.layout.field import Role
from frazil.reading.foreign.identifier import Foreign, cut
from frazil.schemes.codec import Codec

__all__ = ["of_number", "read"]

_PIECES: list[tuple[str, Role, int, bool]] = [
    ("time", "time", 48, True),
    ("randomness", "node", 80, False),
]
_CODEC = Codec("base32", 128)


def read(text: str) -> Foreign | None:
    """The ULID of a text of 26 letters and digits; None for another text.

    Raises CodecError for a character that base32 does not have, and for a first one above 7.
    """
    if len(text) != _CODEC.width or not (text.isascii() and text.isalnum()):
        return None
    return of_number(_CODEC.decode(text), text, "base32")


def of_number(number: int, text: str, written: str) -> Foreign:
    """The ULID with these 128 bits."""
    texts = {"base32": _CODEC.encode(number), "hex": f"{number:032x}"}
    us = (number >> 80) * 1000
    parts = cut(number, _PIECES)
    return Foreign("ULID", text, written, texts["base32"], number, parts, texts, us)
