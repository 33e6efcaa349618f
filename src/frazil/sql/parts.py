"""Where the parts of an ID lie, and the digits of its text, for expressions of every dialect.

A field may be in pieces, reversed or shuffled. All three are one thing: the position in the ID of
each bit of the value, and so some segments (see ``schemes.segments``), each a shift and a mask in
any SQL. A text has one length (except in decimal), so each digit has its place and its power. The
largest text is the largest in the order of the characters' codes, too.

Text in groups is written with its hyphens, and read as people type it: without hyphens and spaces,
in the case of the alphabet, with digits for the letters that look like them.

The functions in SQL agree with ``Scheme.read``: a number whose constants differ from the scheme's
is not an ID of it. It has no time, no fields and no text (NULL).
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from frazil.errors import ConfigError, LayoutError
from frazil.layout.field import Field
from frazil.schemes.alphabet import checks_of, digits_of, meant_by, text_of
from frazil.schemes.scheme import Scheme
from frazil.schemes.segments import segments_of

LAST_US = 253_402_300_800_000_000  # the year 10000, which no time of these databases reaches
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LONGEST = 40  # with "_sequence" and the like after it, below the 63 characters of PostgreSQL
_RESERVED = {"from", "id", "text", "time", "window"}


def parts_of(scheme: Scheme) -> dict[str, tuple[int, ...]]:
    """The positions of each part that changes, by name; the time's number is ``tick``.

    Raises ConfigError if two functions would have one name.
    """
    layout = scheme.layout
    found = {"tick": scheme.positions("time")} if layout.bits_of("time") else {}
    for role in ("run", "node", "sequence"):
        if positions := scheme.positions(role):
            found[role] = positions
    for field in layout.fields:
        if field.role == "node" != field.name:
            if field.name in _RESERVED | found.keys():
                raise ConfigError(
                    f"field {field.name!r} has the name of another function; rename it in the "
                    "layout",
                    field=field.name,
                )
            found[field.name] = _positions(scheme, field)
    return found


def fixed_of(scheme: Scheme, width: int) -> tuple[int, int]:
    """A mask and a value: a number of ``width`` bits is an ID if ``n & mask == value``."""
    mask, value = scheme.constants
    return mask | (1 << width) - (1 << scheme.bits), value


def value_of(positions: Sequence[int], n: str) -> str:
    """The value whose bits lie at ``positions`` of an ID ``n``, by shifts and masks."""
    return " | ".join(
        f"((({n} >> {source}) & {(1 << bits) - 1}) << {target})"
        for source, target, bits in segments_of(positions)
    )


def window(scheme: Scheme) -> tuple[int, int]:
    """(base, shift): the first ID of a tick is ``base + (tick << shift)``.

    Raises LayoutError if the IDs of a time are not one range.
    """
    epoch_us, tick_us = scheme.layout.epoch_us, scheme.layout.tick_us
    if epoch_us is None or tick_us is None:
        raise LayoutError("the scheme has no time", field="time")
    found = scheme.window(epoch_us, epoch_us + tick_us)
    size = found.stop - found.start  # which may be more than len() can count
    return found.start, size.bit_length() - 1


def limit_of(scheme: Scheme, bits: int) -> int:
    """The largest number of the scheme's width that a column of ``bits`` bits holds."""
    return (1 << min(scheme.bits, bits)) - 1


def places(scheme: Scheme) -> list[int]:
    """The power of each digit of a text, the first digit's first. Not for decimal."""
    base = len(digits_of(scheme.encoding))
    return [base**place for place in reversed(range(width_of(scheme)))]


def powers_below(scheme: Scheme, bits: int) -> list[int]:
    """The same for IDs of ``bits`` bits; 0 for a power that is larger, whose digit is always 0."""
    return [power if power < 1 << bits else 0 for power in places(scheme)]


def width_of(scheme: Scheme) -> int:
    """The digits of a text, with the hyphens of a UUID; 0 for decimal."""
    return replace(scheme, group=0).codec.width or 0


def largest(scheme: Scheme, bits: int) -> str:
    """The digits of ``limit_of``. Not for decimal."""
    return text_of(limit_of(scheme, bits), scheme.encoding, width_of(scheme))


def checks(scheme: Scheme) -> tuple[str, ...]:
    """The check characters by the number modulo their count; without any, one empty text."""
    return checks_of(scheme.encoding) if scheme.check else ("",)


def check_of(scheme: Scheme, rest: str) -> list[str]:
    """The check characters, an expression each. rest: the number modulo their count."""
    made = checks(scheme)
    size = len(made[0])
    return [f"substr('{''.join(made)}', {rest} * {size} + {at}, 1)" for at in range(1, size + 1)]


def in_groups(characters: Sequence[str], group: int) -> list[str]:
    """Expressions of one character each, with hyphens between groups of ``group`` (0: none)."""
    made = [[*["'-'"] * bool(group and at and at % group == 0), part]
            for at, part in enumerate(characters)]  # fmt: skip
    return [part for both in made for part in both]


def cut(scheme: Scheme, text: str) -> list[str]:
    """The groups of a text of any length, with a hyphen after each and maybe more."""
    size = scheme.group
    most = len(str(scheme.codec.limit)) + len(checks(scheme)[0])
    starts = range(1, most + 1, size)
    return [part for at in starts for part in (f"substr({text}, {at}, {size})", "'-'")]


def typed(scheme: Scheme, text: str) -> str:
    """A text without its prefix, as it is written without groups, if ``codec`` reads it.

    Upper and lower case must be those of ASCII.
    """
    digits, meant = digits_of(scheme.encoding), meant_by(scheme.encoding)
    case = "upper" if digits == digits.upper() else "lower"
    if scheme.encoding == "base32" or (scheme.group and meant):
        text = f"{case}({text})"
    if scheme.group:
        like = {c: digit for c, digit in meant.items() if c == getattr(c, case)()}
        for character, digit in {**like, "-": "", " ": ""}.items():
            text = f"replace({text}, '{character}', '{digit}')"
    return text


def refuse_unreadable(scheme: Scheme) -> None:
    """Raise ConfigError for a scheme whose text SQL cannot read or write."""
    if scheme.key is not None:
        raise ConfigError(
            f"the text of scheme {scheme.name!r} needs a key, which a database should not hold; "
            "print the functions without the key, and read and write the text in the application",
            scheme=scheme.name,
        )
    digits = "" if scheme.encoding == "uuid" else digits_of(scheme.encoding)
    if list(digits) != sorted(digits):
        raise ConfigError(
            f"the characters of {scheme.encoding} are not in the order of ASCII, in which SQL "
            "compares texts; sort them, or read and write the text in the application",
            scheme=scheme.name,
            encoding=scheme.encoding,
        )


def _positions(scheme: Scheme, field: Field) -> tuple[int, ...]:
    shuffle = scheme.shuffle
    return field.positions if shuffle is None else tuple(map(shuffle.position_of, field.positions))


def checked_name(name: str, what: str) -> str:
    """``name`` if it can begin the names of functions; raises ConfigError. what: for the error."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ConfigError(
            f"{what} {name[:80]!r} is not a name; write at most {_LONGEST} ASCII letters, digits "
            "and '_', a letter first, like 'order'",
            value=name,
            limit=_LONGEST,
        )
    return name


def quoted(name: str, mark: str = '"') -> str:
    """An identifier in quotes, so that any name means itself."""
    if not name or "\0" in name:
        raise ConfigError(f"{name!r} is not a name; write at least one character", value=name)
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"
