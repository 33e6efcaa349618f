"""Alphabets: the digits of each encoding, and the conversion of numbers and texts.

A codec checks numbers and texts; the functions here expect valid ones. An encoding is a name, or
``alphabet:`` and the digits of an alphabet of one's own.

Sources: base58 is Bitcoin's alphabet, base32 and its check symbols (number modulo 37) are
Crockford's (https://www.crockford.com/base32.html), base62 is ``0-9A-Za-z``. The digits of each
named alphabet are in the order of their character codes, so texts of one length sort as their
numbers do. The two check characters of the others are those of ISO/IEC 7064: MOD 97-10 for ten
digits, and for B digits the same with the largest prime below B * B.
"""

from collections.abc import Mapping
from functools import cache
from math import isqrt
from types import MappingProxyType

_ALL = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

DIGITS: Mapping[str, str] = MappingProxyType(
    {
        "decimal": _ALL[:10],
        "hex": "0123456789abcdef",
        "base32": "".join(c for c in _ALL[:36] if c not in "ILOU"),
        "base58": "".join(c for c in _ALL if c not in "0OIl"),
        "base62": _ALL,
    }
)
"""The digits of each encoding, from the value 0 up."""

CHECKS = DIGITS["base32"] + "*~$=U"  # the check characters of base32, by number modulo 37
OWN = "alphabet:"  # what stands before the digits of an alphabet of one's own
LIKE_ONE = "IiLl"  # what people take for a 1
_ALIKE = "0Oo", "1" + LIKE_ONE

UUID_BITS = 128  # the width of a UUID
ENCODINGS = (*DIGITS, "uuid")  # the names of all encodings
_MISREAD = {"I": "1", "L": "1", "O": "0", "U": "V"}


def encodings_of(bits: int) -> tuple[str, ...]:
    """The encodings that numbers of ``bits`` bits have."""
    return ENCODINGS if bits == UUID_BITS else tuple(DIGITS)


def digits_of(encoding: str) -> str:
    """The digits of an encoding, from the value 0 up; not of uuid."""
    return encoding.removeprefix(OWN) if encoding.startswith(OWN) else DIGITS[encoding]


@cache
def checks_of(encoding: str) -> tuple[str, ...]:
    """The check characters of each number, by the number modulo their count.

    With the two characters a text is 1 modulo a prime, as a number in its digits. One wrong digit,
    and two neighbours in the wrong order, change that number by something that no such prime
    divides. Needs at least three digits.
    """
    if encoding == "base32":
        return tuple(CHECKS)
    digits = digits_of(encoding)
    base = len(digits)
    square = base * base
    prime = next(
        p for p in range(square - 2, base, -1) if all(p % d for d in range(2, isqrt(p) + 1))
    )
    made = (divmod(prime + 1 - n * square % prime, base) for n in range(prime))
    return tuple(digits[high] + digits[low] for high, low in made)


@cache
def meant_by(encoding: str) -> Mapping[str, str]:
    """The digit that a person means by another character: of the other case, or one like it.

    Empty if the case matters. Of a character that is like two of the digits, none is meant.
    """
    digits = digits_of(encoding)
    if digits not in (digits.upper(), digits.lower()):
        return {}
    meant = {c.swapcase(): c for c in digits if c.isalpha()}
    for alike in _ALIKE:
        digit = "".join(set(alike) & set(digits))
        if len(digit) == 1:
            meant |= {c: digit for c in alike if c != digit}
    return meant


def confused(encoding: str) -> str:
    """Two digits that people take for each other, as 0 and O; "" if there are none."""
    digits = digits_of(encoding)
    pairs = ("".join(c for c in digits if c in alike) for alike in _ALIKE)
    return next((pair[:2] for pair in pairs if len(pair) > 1), "")


@cache
def digit_values(encoding: str) -> Mapping[str, int]:
    """The value of each digit; in base32, of either case."""
    values = {character: value for value, character in enumerate(digits_of(encoding))}
    if encoding == "base32":
        values |= {character.lower(): value for character, value in values.items()}
    return values


def text_of(n: int, encoding: str, places: int) -> str:
    """``n`` in exactly ``places`` digits; in decimal, without leading zeros."""
    if encoding == "decimal":
        return str(n)
    if encoding == "hex":
        return f"{n:0{places}x}"
    pairs = _pairs(encoding)
    square = len(pairs)
    text = ""
    for _ in range((places + 1) // 2):
        n, low = divmod(n, square)
        text = pairs[low] + text
    return text[places & 1 :]


def number_of(body: str, encoding: str) -> int:
    """The number of a text, which has only digits of the encoding."""
    if encoding == "decimal":
        return int(body)
    if encoding == "hex":
        return int(body, 16)
    values = digit_values(encoding)
    base = len(digits_of(encoding))
    n = 0
    for character in body:
        n = n * base + values[character]
    return n


def why_wrong(character: str, encoding: str) -> str:
    """Why ``character`` is not a digit, and which one was probably meant."""
    reason = f"{character!a} is not a character of {encoding}"
    if encoding == "base32" and character.upper() in _MISREAD:
        return f"{reason}; did you mean {_MISREAD[character.upper()]}?"
    if encoding == "base58" and character in "0OIl":
        return f"{reason}, which leaves out 0, O, I and l"
    if encoding == "hex" and character in "ABCDEF":
        return f"{reason}, which is lower case here; did you mean {character.lower()}?"
    return reason


@cache
def _pairs(encoding: str) -> list[str]:
    # Two digits at a time need half as many divisions.
    digits = digits_of(encoding)
    return [high + low for high in digits for low in digits]
