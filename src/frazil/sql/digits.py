"""The digits of a text in SQL, for dialects whose functions are one expression each.

A text has one length (except in decimal), so each digit has its place and its power. The largest
text is the largest in the order of the characters' codes, too.
"""

from frazil.schemes.alphabet import CHECKS, DIGITS, text_of
from frazil.schemes.scheme import Scheme

__all__ = ["largest", "limit_of", "places", "symbols"]


def limit_of(scheme: Scheme, bits: int) -> int:
    """The largest number of the scheme's width that a column of ``bits`` bits holds."""
    return (1 << min(scheme.bits, bits)) - 1


def places(scheme: Scheme) -> list[int]:
    """The power of each digit, the first digit's first. Not for decimal."""
    width = scheme.codec.width or 0
    base = len(DIGITS[scheme.encoding])
    return [base**place for place in reversed(range(width))]


def symbols(scheme: Scheme) -> tuple[str, str]:
    """The digits of the encoding, and the check characters or ""."""
    return DIGITS[scheme.encoding], CHECKS if scheme.check else ""


def largest(scheme: Scheme, bits: int) -> str:
    """The digits of ``limit_of``. Not for decimal."""
    return text_of(limit_of(scheme, bits), scheme.encoding, scheme.codec.width or 0)
