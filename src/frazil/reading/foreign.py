r"""IDs of other systems: UUIDs, ULID, KSUID, xid, ObjectId and TypeID. They are read, not made.

The formats hardly overlap: 36 characters with hyphens are a UUID, 27 letters and digits a KSUID, 26
a ULID, 24 hex digits an ObjectId, 20 characters an xid. Bytes in hex (also ``0x…`` and ``\x…``, as
databases show them) are a UUID if its constant bits are there, else a ULID or a KSUID if the date
is plausible: 40 digits are more often a SHA-1.

A word of a line is accepted only with a plausible date: a host name or a hash may have the same
length, and a random UUID has no date. A text that is one ID as a whole is always read; an
implausible date is shown as a doubt.

- A UUID of RFC 9562 and its predecessors is one, whatever its bits: nil and max, a version that no
  document defines, and the variants of before and beside the RFC. 32 hex digits can be anything, so
  they are a UUID only with a version and the variant of the RFC. Versions 1 and 6 count 100 ns
  since 15 October 1582, the first day of the Gregorian calendar; 6 has the same bits as 1 in the
  order in which they sort. Version 7 has milliseconds since 1970, and the others have no time.
- A TypeID is a prefix, ``_`` and a UUID in 26 characters of base32, all of lower case
  (specification 0.3). One without a prefix is not told from a ULID.
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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeAlias

from frazil.errors import CodecError
from frazil.inputs.duration import UNITS_US, ago
from frazil.layout.field import Role
from frazil.schemes.alphabet import number_of, text_of
from frazil.schemes.codec import Codec
from frazil.system.clock import moment_text, to_us

_BASE32 = Codec("base32", 128)
Pieces: TypeAlias = Sequence[tuple[str, Role, int, bool]]
"""A name, a role, a width in bits, and ``counted`` of each part."""


@dataclass(frozen=True, slots=True)
class Part:
    """``bits`` bits of an ID. counted: whether the value is a number to people, and not bytes."""

    name: str
    role: Role
    bits: int
    value: int
    counted: bool

    @property
    def text(self) -> str:
        """The value: decimal if it is counted, else hex."""
        return str(self.value) if self.counted else f"{self.value:0{-(-self.bits // 4)}x}"


@dataclass(frozen=True)
class Foreign:
    """An ID of another system, as a number that is cut into parts.

    A ``Layout`` has at most 128 bits, whole microseconds and a field that claims advance along.
    Some of these formats have none of the three, and no registry grants their regions.

    text: as it was given. written: what that form is called. texts: its forms by name, the usual
    one first. moment_us: µs since 1970, None if it has no time. others: formats that the text could
    also be. note: what its time and parts mean, if that is not obvious.
    """

    format: str
    text: str
    written: str
    number: int
    parts: tuple[Part, ...]
    texts: dict[str, str]
    moment_us: int | None = None
    prefix: str = ""
    others: tuple[str, ...] = ()
    note: str = ""

    @property
    def canonical(self) -> str:
        """Its usual form."""
        return next(iter(self.texts.values()))

    @property
    def bits(self) -> int:
        """The width."""
        return sum(part.bits for part in self.parts)

    @property
    def spans(self) -> list[tuple[str, Role, str]]:
        """(name, role, binary digits) of each part, most significant first."""
        return [(part.name, part.role, f"{part.value:0{part.bits}b}") for part in self.parts]


def cut(number: int, pieces: Pieces) -> tuple[Part, ...]:
    """The parts of a number."""
    parts: list[Part] = []
    for name, role, bits, counted in reversed(pieces):
        parts.append(Part(name, role, bits, number & ((1 << bits) - 1), counted))
        number >>= bits
    return tuple(reversed(parts))


# --- UUIDs and TypeIDs

_UUID = re.compile(
    r"(?P<urn>urn:uuid:)?(?P<brace>\{)?"
    r"(?P<digits>[0-9a-f]{8}(?P<h>-?)(?:[0-9a-f]{4}(?P=h)){3}[0-9a-f]{12})"
    r"(?(brace)\})",
    re.ASCII | re.IGNORECASE,
)
_TYPEID = re.compile(r"([a-z](?:[a-z_]{0,61}[a-z])?)_([0-9a-z]{26})", re.ASCII)
_GREGORIAN_TICKS = 0x01B21DD213814000  # 100 ns from 1582-10-15 to 1970-01-01


def _with_marks(high: Pieces, low: Pieces) -> Pieces:
    """48 bits, the version, 12 bits, the variant, 62 bits."""
    *head, middle = high
    return [*head, ("version", "fixed", 4, True), middle, ("variant", "fixed", 2, True), *low]


def _clocked(*times: str) -> Pieces:
    """Versions 1 and 6: the parts of the time by these names, a clock sequence and a node."""
    widths = zip(times, (32, 16, 12), strict=True)
    high: Pieces = [(name, "time", bits, True) for name, bits in widths]
    return _with_marks(high, [("clock_seq", "sequence", 14, True), ("node", "node", 48, False)])


_RANDOM = _with_marks(
    [("custom_a", "node", 48, False), ("custom_b", "node", 12, False)],
    [("custom_c", "node", 62, False)],
)
_UUID_PIECES = {
    1: _clocked("time_low", "time_mid", "time_high"),
    6: _clocked("time_high", "time_mid", "time_low"),
    7: _with_marks(
        [("unix_ts_ms", "time", 48, True), ("rand_a", "node", 12, False)],
        [("rand_b", "node", 62, False)],
    ),
}
_NOTES = {
    2: "a UUID of DCE security, with the number of a user or a group",
    3: "the MD5 hash of a name; it has no time",
    4: "random bits; it has no time",
    5: "the SHA-1 hash of a name; it has no time",
    8: "bits whose meaning its maker defines",
}
_ALL_ONES = (1 << 128) - 1
# (bits of the variant, its name), by the first three bits of the ninth byte; RFC 9562, 4.1.
_VARIANTS = {
    **dict.fromkeys(range(4), (1, "UUID of Apollo NCS", "a variant of before 1990")),
    6: (3, "GUID of Microsoft COM", "a variant for old GUIDs, often with other byte order"),
    7: (3, "UUID of a reserved variant", "RFC 9562 reserves its variant for the future"),
}


def read_uuid(text: str) -> Foreign | None:
    """The UUID of a text: hyphenated, with braces, ``urn:uuid:`` or 32 hex digits, in either case.

    None for another text. Raises CodecError for digits alone with no known version.
    """
    form = _UUID.fullmatch(text)
    if form is None:
        return None
    written = (
        "urn" if form["urn"] else "braces" if form["brace"] else "uuid" if form["h"] else "hex"
    )
    return uuid_of(int(form["digits"].replace("-", ""), 16), text, written, known=not form["h"])


def uuid_of(number: int, text: str, written: str, *, known: bool = False) -> Foreign:
    """The UUID with these 128 bits.

    known: raise CodecError for one that is neither nil nor max nor of a version of RFC 9562.
    """
    version, variant = number >> 76 & 15, number >> 62 & 3
    name, note = f"UUIDv{version}", _NOTES.get(version, "")
    pieces, moment_us = _UUID_PIECES.get(version, _RANDOM), _uuid_moment_us(number, version)
    if number in {0, _ALL_ONES}:
        name = "nil UUID" if number == 0 else "max UUID"
        note = "a UUID that identifies nothing"
        pieces, moment_us = [("bits", "node", 128, False)], None
    elif known and (variant != 2 or version not in range(1, 9)):
        raise CodecError(
            f"{text!r} has the form of a UUID, but version {version} and variant bits "
            f"{variant:02b}; a UUID of RFC 9562 has version 1 to 8 and variant bits 10",
            value=version,
        )
    elif variant != 2:
        bits, name, note = _VARIANTS[number >> 61 & 7]
        rest: Pieces = [("variant", "fixed", bits, True), ("bits_low", "node", 64 - bits, False)]
        pieces, moment_us = [("bits_high", "node", 64, False), *rest], None
    elif version not in range(1, 9):
        note = "RFC 9562 defines no such version"
    digits = f"{number:032x}"
    canonical = "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
    return Foreign(
        name,
        text,
        written,
        number,
        cut(number, pieces),
        {"uuid": canonical, "hex": digits, "decimal": str(number)},
        moment_us,
        note=note,
    )


def _uuid_moment_us(number: int, version: int) -> int | None:
    if version == 7:
        return (number >> 80) * 1000
    if version == 1:
        ticks = (number >> 64 & 0xFFF) << 48 | (number >> 80 & 0xFFFF) << 32 | number >> 96
    elif version == 6:
        ticks = number >> 80 << 12 | number >> 64 & 0xFFF
    else:
        return None
    return (ticks - _GREGORIAN_TICKS) // 10


def read_typeid(text: str) -> Foreign | None:
    """The TypeID of a text with a prefix; None for another text.

    Raises CodecError for capitals, and for a suffix that is not 128 bits of base32.
    """
    form = _TYPEID.fullmatch(text)
    if form is None:
        if text != text.lower() and _TYPEID.fullmatch(text.lower()):
            raise CodecError(
                f"{text!r} has the form of a TypeID, which has no capitals; write {text.lower()}",
                text=text,
            )
        return None
    prefix, suffix = form[1], form[2]
    try:
        number = _BASE32.decode(suffix)
    except CodecError as error:
        raise CodecError(f"{text!r} has the form of a TypeID, but {error}", text=text) from None
    inside = uuid_of(number, text, "base32")
    usual = inside.format == "UUIDv7"
    note = inside.note if usual else f"a {inside.format}; the usual TypeID has a UUIDv7"
    return replace(
        inside,
        format="TypeID",
        texts={"typeid": text, **inside.texts},
        prefix=f"{prefix}_",
        note=note,
    )


# --- a time first, then random bits or a counter

_ULID: Pieces = [("time", "time", 48, True), ("randomness", "node", 80, False)]
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
    if len(text) != _BASE32.width or not (text.isascii() and text.isalnum()):
        return None
    return ulid_of(_BASE32.decode(text), text, "base32")


def ulid_of(number: int, text: str, written: str) -> Foreign:
    """The ULID with these 128 bits."""
    texts = {"base32": _BASE32.encode(number), "hex": f"{number:032x}"}
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


# --- which of them a text is

_READERS = (read_uuid, read_typeid, read_ulid, read_ksuid, read_xid, read_objectid)
_BYTES = re.compile(r"(?:0x|\\x)?([0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40})", re.IGNORECASE)
OLDEST_US = to_us(datetime(2005, 1, 1, tzinfo=UTC))  # no such ID is older
AHEAD_MAX_US = UNITS_US["d"]


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
    if us is None or OLDEST_US <= us <= now_us + AHEAD_MAX_US:
        return ""
    return f"{date_text(us)}, {ago(us, now_us)}"


def date_text(us: int) -> str:
    """An implausible date, as the beginning of a doubt."""
    return f"its date would be {moment_text(us).partition('T')[0]}"


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
        found = read_objectid(digits)
    elif len(digits) == 40:
        found = ksuid_of(int(digits, 16), text, "hex")
    else:
        try:
            return uuid_of(int(digits, 16), text, "hex", known=True)
        except CodecError:
            found = ulid_of(int(digits, 16), text, "hex")
    return found if found and not doubt_of(found, now_us) else None
