"""MongoDB's ObjectIds: seconds since 1970, 40 random bits of a process, and a counter, in hex.

Drivers older than 2018 had a machine and a process in place of the random bits.
"""

import re

from frazil.layout.field import Role
from frazil.reading.foreign.identifier import Foreign, cut

__all__ = ["read"]

_TEXT = re.compile(r"[0-9a-f]{24}", re.ASCII | re.IGNORECASE)
_PIECES: list[tuple[str, Role, int, bool]] = [
    ("timestamp", "time", 32, True),
    ("random", "node", 40, False),
    ("counter", "sequence", 24, True),
]


def read(text: str) -> Foreign | None:
    """The ObjectId of a text of 24 hex digits, in either case; None for another text.

    The bytes of an xid look the same, so that is the other format.
    """
    if not _TEXT.fullmatch(text):
        return None
    number, canonical = int(text, 16), text.lower()
    us = (number >> 64) * 1_000_000
    parts, texts = cut(number, _PIECES), {"hex": canonical}
    return Foreign("ObjectId", text, "hex", canonical, number, parts, texts, us, others=("xid",))
