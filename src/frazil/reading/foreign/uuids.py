"""UUIDs of RFC 9562 and its predecessors: the moment of versions 1, 6 and 7, the parts of all.

A text in the form of a UUID is one, whatever its bits: nil and max, a version that no document
defines, and the variants of before and beside the RFC. 32 hex digits can be anything, so they are a
UUID only with a version and the variant of the RFC.

Versions 1 and 6 count 100 ns since 15 October 1582, the first day of the Gregorian calendar; 6 has
the same bits as 1 in the order in which they sort. The other versions have no time.

A TypeID is a prefix, ``_`` and a UUID in 26 characters of base32, all of lower case (specification
0.3). One without a prefix is not told from a ULID.
"""

import re
from dataclasses import replace

from frazil.errors import CodecError
from frazil.reading.foreign.identifier import Foreign, Pieces, cut
from frazil.schemes.codec import Codec

_FORM = re.compile(
    r"(?P<urn>urn:uuid:)?(?P<brace>\{)?"
    r"(?P<digits>[0-9a-f]{8}(?P<h>-?)(?:[0-9a-f]{4}(?P=h)){3}[0-9a-f]{12})"
    r"(?(brace)\})",
    re.ASCII | re.IGNORECASE,
)
_TYPEID = re.compile(r"([a-z](?:[a-z_]{0,61}[a-z])?)_([0-9a-z]{26})", re.ASCII)
_BASE32 = Codec("base32", 128)
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
_PIECES = {
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


def read(text: str) -> Foreign | None:
    """The UUID of a text: hyphenated, with braces, ``urn:uuid:`` or 32 hex digits, in either case.

    None for another text. Raises CodecError for digits alone with no known version.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    written = (
        "urn" if form["urn"] else "braces" if form["brace"] else "uuid" if form["h"] else "hex"
    )
    return of_number(int(form["digits"].replace("-", ""), 16), text, written, known=not form["h"])


def of_number(number: int, text: str, written: str, *, known: bool = False) -> Foreign:
    """The UUID with these 128 bits.

    known: raise CodecError for one that is neither nil nor max nor of a version of RFC 9562.
    """
    version, variant = number >> 76 & 15, number >> 62 & 3
    name, note, moment_us = f"UUIDv{version}", _NOTES.get(version, ""), _moment_us(number, version)
    pieces = _PIECES.get(version, _RANDOM)
    if number in {0, _ALL_ONES}:
        name = "nil UUID" if number == 0 else "max UUID"
        pieces, note, moment_us = (
            [("bits", "node", 128, False)],
            "a UUID that identifies nothing",
            None,
        )
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


def _moment_us(number: int, version: int) -> int | None:
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
    inside = of_number(number, text, "base32")
    usual = inside.format == "UUIDv7"
    note = inside.note if usual else f"a {inside.format}; the usual TypeID has a UUIDv7"
    return replace(
        inside,
        format="TypeID",
        texts={"typeid": text, **inside.texts},
        prefix=f"{prefix}_",
        note=note,
    )
