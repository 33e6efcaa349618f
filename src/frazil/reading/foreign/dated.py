"""ULIDs, KSUIDs, xids and MongoDB's ObjectIds: a time first, then random bits or a counter.

- A ULID has 48 bits of milliseconds since 1970 and 80 random bits, in 26 characters of base32, of
  either case. The first character is at most 7, because 26 characters hold 130 bits.
- A KSUID has 32 bits of seconds since May 2014 and 128 random bits, in 27 characters of base62.
- An xid has seconds since 1970, a machine, a process and a counter: 96 bits, in 20 characters of
  base32hex, of lower case only. They hold 100 bits, and the last four are zero. A text of digits
  alone is not read: it is a decimal number far more often than one of the few such xids.
- An ObjectId has seconds since 1970, 40 random bits of a process (before 2018 a machine and a
  process) and a counter, in hex.
"""

import re

from frazil.errors import CodecError
from frazil.reading.foreign.identifier import Foreign, Pieces, cut
from frazil.schemes.alphabet import number_of, text_of
from frazil.schemes.codec import Codec

_ULID: Pieces = [("time", "time", 48, True), ("randomness", "node", 80, False)]
_ULID_CODEC = Codec("base32", 128)
_KSUID: Pieces = [("timestamp", "time", 32, True), ("payload", "node", 128, False)]
_KSUID_TEXT = re.compile("[0-9A-Za-z]{27}")
_KSUID_EPOCH_S = 1_400_000_000
_XID: Pieces = [
    ("time", "time", 32, True),
    ("machine", "node", 24, False),
    ("pid", "node", 16, True),
    ("counter", "sequence", 24, True),
]
_XID_TEXT = re.compile("(?=[0-9]*[a-v])[0-9a-v]{20}")
_OBJECTID: Pieces = [
    ("timestamp", "time", 32, True),
    ("random", "node", 40, False),
    ("counter", "sequence", 24, True),
]
_OBJECTID_TEXT = re.compile("[0-9a-fA-F]{24}")


def read_ulid(text: str) -> Foreign | None:
    """The ULID of a text of 26 letters and digits; None for another text.

    Raises CodecError for a character that base32 does not have, and for a first one above 7.
    """
    if len(text) != _ULID_CODEC.width or not (text.isascii() and text.isalnum()):
        return None
    return ulid_of(_ULID_CODEC.decode(text), text, "base32")


def ulid_of(number: int, text: str, written: str) -> Foreign:
    """The ULID with these 128 bits."""
    texts = {"base32": _ULID_CODEC.encode(number), "hex": f"{number:032x}"}
    return Foreign("ULID", text, written, number, cut(number, _ULID), texts, (number >> 80) * 1000)


def read_ksuid(text: str) -> Foreign | None:
    """The KSUID of a text of 27 letters and digits; None for another text.

    Raises CodecError for a number of more than 160 bits.
    """
    if not _KSUID_TEXT.fullmatch(text):
        return None
    number = number_of(text, "base62")
    if number >> 160:
        most = text_of((1 << 160) - 1, "base62", 27)
        raise CodecError(
            f"{text!r} has the form of a KSUID, but is larger than {most}, the largest", text=text
        )
    return ksuid_of(number, text, "base62")


def ksuid_of(number: int, text: str, written: str) -> Foreign:
    """The KSUID with these 160 bits."""
    texts = {"base62": text_of(number, "base62", 27), "hex": f"{number:040x}"}
    us = ((number >> 128) + _KSUID_EPOCH_S) * 1_000_000
    return Foreign("KSUID", text, written, number, cut(number, _KSUID), texts, us)


def read_xid(text: str) -> Foreign | None:
    """The xid of a text of 20 characters; None for another text.

    Raises CodecError if bits are set that no xid has.
    """
    if not _XID_TEXT.fullmatch(text):
        return None
    number, rest = divmod(int(text, 32), 16)
    if rest:
        raise CodecError(
            f"{text!r} has the form of an xid, but its last character is {text[-1]!r}; that of an "
            "xid is 0 or g",
            text=text,
        )
    texts, us = {"base32hex": text, "hex": f"{number:024x}"}, (number >> 64) * 1_000_000
    return Foreign("xid", text, "base32hex", number, cut(number, _XID), texts, us)


def read_objectid(text: str) -> Foreign | None:
    """The ObjectId of a text of 24 hex digits, in either case; None for another text.

    The bytes of an xid look the same, so that is the other format.
    """
    if not _OBJECTID_TEXT.fullmatch(text):
        return None
    number = int(text, 16)
    parts, us = cut(number, _OBJECTID), (number >> 64) * 1_000_000
    return Foreign(
        "ObjectId", text, "hex", number, parts, {"hex": text.lower()}, us, others=("xid",)
    )
