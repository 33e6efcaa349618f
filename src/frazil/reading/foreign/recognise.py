r"""Which system made an ID: by its length, its alphabet, and bits that are constant.

The formats hardly overlap: 36 characters with hyphens are a UUID, 27 letters and digits a KSUID, 26
a ULID, 24 hex digits an ObjectId, 20 characters an xid. Bytes in hex (also ``0x…`` and ``\x…``, as
databases show them) are a UUID if its constant bits are there, else a ULID or a KSUID if the date
is plausible: 40 digits are more often a SHA-1.

A word of a line is accepted only with a plausible date: a host name or a hash may have the same
length, and a random UUID has no date. A text that is one ID as a whole is always read; an
implausible date is shown as a doubt.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from frazil.errors import CodecError
from frazil.inputs.duration import UNITS_US, ago
from frazil.reading.foreign import dated, uuids
from frazil.reading.foreign.identifier import Foreign
from frazil.system.clock import moment_text, to_us

_READERS: tuple[Callable[[str], Foreign | None], ...] = (
    uuids.read, uuids.read_typeid,
    dated.read_ulid, dated.read_ksuid, dated.read_xid, dated.read_objectid,
)  # fmt: skip
_BYTES = re.compile(r"(?:0x|\\x)?([0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40})", re.IGNORECASE)
_OLDEST_US = to_us(datetime(2005, 1, 1, tzinfo=UTC))
_AHEAD_MAX_US = UNITS_US["d"]


def recognise(text: str, now_us: int) -> Foreign | None:
    """The ID of another system, if the whole text is one; else None."""
    for read in _READERS:
        try:
            found = read(text)
        except CodecError:
            continue
        if found is not None:
            return found
    return _in_bytes(text, now_us)


def in_word(word: str, now_us: int) -> Foreign | None:
    """The same, for a word of a line."""
    found = recognise(word, now_us)
    if found is None or (found.written == "hex" and found.format != "ObjectId"):
        return None
    dated = found.moment_us is not None and any(c.isdigit() for c in word)
    return found if dated and not doubt_of(found, now_us) else None


def doubt_of(found: Foreign, now_us: int) -> str:
    """Why the date is implausible; "" if it is not, or if there is none."""
    us = found.moment_us
    if us is None or _OLDEST_US <= us <= now_us + _AHEAD_MAX_US:
        return ""
    return f"its date would be {moment_text(us).partition('T')[0]}, {ago(us, now_us)}"


def why_not(text: str) -> str:
    """Why a text in the form of an ID of another system is not one; "" without such a form."""
    for read in _READERS:
        try:
            read(text)
        except CodecError as error:
            kind = "" if "has the form of" in str(error) else "as a ULID: "
            return f"{kind}{error}"
    return ""


def _in_bytes(text: str, now_us: int) -> Foreign | None:
    form = _BYTES.fullmatch(text)
    if form is None:
        return None
    digits = form[1]
    if len(digits) == 24:
        found = dated.read_objectid(digits)
    elif len(digits) == 40:
        found = dated.ksuid_of(int(digits, 16), text, "hex")
    else:
        try:
            return uuids.of_number(int(digits, 16), text, "hex", known=True)
        except CodecError:
            found = dated.ulid_of(int(digits, 16), text, "hex")
    return found if found and not doubt_of(found, now_us) else None
