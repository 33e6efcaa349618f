"""Alphabets: the characters that stand for numbers, and plain conversion between the two.

A codec decides what a text must look like; an alphabet only knows which character is worth what.
The conversions are free functions on numbers and texts that were checked before.

Sources: base58 is Bitcoin's alphabet, base32 and its check symbols (number modulo 37) are
Crockford's (https://www.crockford.com/base32.html), base62 is ``0-9A-Za-z``. The digits of every
alphabet stand in the order of their character codes, so that texts of one length sort as their
numbers do.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

__all__ = ["CHECKS", "CHECK_WORTH", "DIGITS", "number_of", "stranger", "text_of", "worth"]

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
"""For every encoding its digits, from the value 0 up."""

CHECKS = DIGITS["base32"] + "*~$=U"
"""The check characters of base32, by number modulo 37."""

CHECK_WORTH = {c: i for i, symbol in enumerate(CHECKS) for c in (symbol, symbol.lower())}
"""What each check character stands for, in either case."""

_MISREAD = {"I": "1", "L": "1", "O": "0", "U": "V"}


@cache
def worth(encoding: str) -> Mapping[str, int]:
    """The value of every character that is a digit; base32 is read in either case."""
    values = {character: value for value, character in enumerate(DIGITS[encoding])}
    if encoding == "base32":
        values |= {character.lower(): value for character, value in values.items()}
    return values


def text_of(n: int, encoding: str, places: int) -> str:
    """``n`` in exactly ``places`` digits (decimal: in as many as it has); ``n`` must fit them."""
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
    """The number that digits write; every character must be one of ``worth(encoding)``."""
    if encoding == "decimal":
        return int(body)
    if encoding == "hex":
        return int(body, 16)
    values = worth(encoding)
    base = len(DIGITS[encoding])
    n = 0
    for character in body:
        n = n * base + values[character]
    return n


def stranger(character: str, encoding: str) -> str:
    """Why ``character`` is no digit, with what was probably meant."""
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
    # Two digits at a time is half the divisions of one at a time.
    digits = DIGITS[encoding]
    return [high + low for high in digits for low in digits]
