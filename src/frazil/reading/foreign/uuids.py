"""UUIDs of RFC 9562 and its predecessors: the moment of versions 1, 6 and 7, the parts of all.

Versions 1 and 6 count 100 ns since 15 October 1582, the first day of the Gregorian calendar; 6 has
the same bits as 1 in the order in which they sort. The other versions have no time.
"""

import re

from frazil.errors import CodecError
from frazil.layout.field import Role
from frazil.reading.foreign.identifier import Foreign, cut

__all__ = ["of_number", "read"]

_FORM = re.compile(
    r"(?P<urn>urn:uuid:)?(?P<brace>\{)?"
    r"(?P<digits>[0-9a-f]{8}(?P<h>-?)(?:[0-9a-f]{4}(?P=h)){3}[0-9a-f]{12})"
    r"(?(brace)\})",
    re.ASCII | re.IGNORECASE,
)
_GREGORIAN_TICKS = 0x01B21DD213814000  # 100 ns from 1582-10-15 to 1970-01-01

_Pieces = list[tuple[str, Role, int, bool]]


def _with_marks(high: _Pieces, low: _Pieces) -> _Pieces:
    """48 bits, the version, 12 bits, the variant, 62 bits."""
    *head, middle = high
    return [*head, ("version", "fixed", 4, True), middle, ("variant", "fixed", 2, True), *low]


_CLOCK: _Pieces = [("clock_seq", "sequence", 14, True), ("node", "node", 48, False)]
_RANDOM: _Pieces = _with_marks(
    [("custom_a", "node", 48, False), ("custom_b", "node", 12, False)],
    [("custom_c", "node", 62, False)],
)
_PIECES: dict[int, _Pieces] = {
    1: _with_marks(
        [
            ("time_low", "time", 32, True),
            ("time_mid", "time", 16, True),
            ("time_high", "time", 12, True),
        ],
        _CLOCK,
    ),
    6: _with_marks(
        [
            ("time_high", "time", 32, True),
            ("time_mid", "time", 16, True),
            ("time_low", "time", 12, True),
        ],
        _CLOCK,
    ),
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


def read(text: str) -> Foreign | None:
    """The UUID of a text: hyphenated, with braces, ``urn:uuid:`` or 32 hex digits, in either case.

    None for another text. Raises CodecError for a UUID of no known version.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    written = (
        "urn" if form["urn"] else "braces" if form["brace"] else "uuid" if form["h"] else "hex"
    )
    return of_number(int(form["digits"].replace("-", ""), 16), text, written)


def of_number(number: int, text: str, written: str) -> Foreign:
    """The UUID with these 128 bits. Raises CodecError for one of no known version."""
    version, variant = number >> 76 & 15, number >> 62 & 3
    if variant != 2 or version not in range(1, 9):
        raise CodecError(
            f"{text!r} has the form of a UUID, but version {version} and variant bits "
            f"{variant:02b}; a UUID of RFC 9562 has version 1 to 8 and variant bits 10",
            value=version,
        )
    digits = f"{number:032x}"
    canonical = "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
    return Foreign(
        f"UUIDv{version}",
        text,
        written,
        canonical,
        number,
        cut(number, _PIECES.get(version, _RANDOM)),
        {"uuid": canonical, "hex": digits, "decimal": str(number)},
        _moment_us(number, version),
        note=_NOTES.get(version, ""),
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
