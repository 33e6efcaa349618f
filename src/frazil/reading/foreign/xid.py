"""xids: seconds since 1970, a machine, a process and a counter: 96 bits, in 20 characters.

The text is base32hex, of lower case only. It has 100 bits, and the last four are zero. A text of
digits alone is not read: it is a decimal number far more often than one of the few such xids.
"""

import re

from frazil.errors import CodecError
from frazil.layout.field import Role
from frazil.reading.foreign.identifier import Foreign, cut

__all__ = ["read"]

_TEXT = re.compile(r"(?=[0-9]*[a-v])[0-9a-v]{20}", re.ASCII)
_PIECES: list[tuple[str, Role, int, bool]] = [
    ("time", "time", 32, True),
    ("machine", "node", 24, False),
    ("pid", "node", 16, True),
    ("counter", "sequence", 24, True),
]


def read(text: str) -> Foreign | None:
    """The xid of a text of 20 characters; None for another text.

    Raises CodecError if bits are set that no xid has.
    """
    if not _TEXT.fullmatch(text):
        return None
    number, rest = divmod(int(text, 32), 16)
    if rest:
        raise CodecError(
            f"{text!r} has the form of an xid, but its last character is {text[-1]!r}; that of an "
            "xid is 0 or g",
            text=text,
        )
    texts = {"base32hex": text, "hex": f"{number:024x}"}
    us = (number >> 64) * 1_000_000
    return Foreign("xid", text, "base32hex", text, number, cut(number, _PIECES), texts, us)
