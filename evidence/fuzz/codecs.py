"""The texts of IDs, compared with a slow codec that divides one digit at a time."""

from evidence.fuzz.accepted import accepted
from frazil.schemes.alphabet import CHECKS, DIGITS, OWN
from frazil.schemes.codec import Codec

__all__ = ["ALPHABETS", "check_codecs", "slow_check", "slow_number", "slow_text"]

ALPHABETS = [
    OWN + characters
    for characters in ("ab", "zyx", "0123456789", "BCDFGHJKMNPQRSTVWXZ0123456789", "aB1cD2e")
]

_CODECS = [
    *(Codec(encoding, bits) for encoding in DIGITS for bits in (1, 47, 64, 128)),
    *(Codec("base32", bits, check=True) for bits in (47, 64, 128)),
    *(Codec(encoding, 64) for encoding in ALPHABETS),
    *(Codec(encoding, 64, check=True) for encoding in ("decimal", "hex", *ALPHABETS[1:])),
    Codec("base62", 64, prefix="order_"),
    Codec("decimal", 64, prefix="Shop_order2_"),
]


def check_codecs(text: str) -> None:
    """Every codec reads the text like the slow one, and refuses the same texts."""
    for codec in _CODECS:
        found = accepted(codec.decode, text)
        assert found == slow_number(codec, text), codec


def slow_text(codec: Codec, n: int) -> str:
    """The text of ``n`` by repeated division."""
    digits = _digits(codec)
    text, rest = "", n
    while rest or not text:
        rest, low = rest // len(digits), rest % len(digits)
        text = digits[low] + text
    if codec.encoding != "decimal":
        largest = 2**codec.bits - 1
        width = 1
        while largest >= len(digits):
            largest //= len(digits)
            width += 1
        text = text.rjust(width, digits[0])
    return codec.prefix + text + (slow_check(codec, n) if codec.check else "")


def slow_check(codec: Codec, n: int) -> str:
    """The check characters of ``n``: in base32 one, else two that are found by trying."""
    if codec.encoding == "base32":
        return CHECKS[n % 37]
    digits = _digits(codec)
    base = len(digits)
    prime = base * base - 2
    while any(prime % divisor == 0 for divisor in range(2, prime)):
        prime -= 1
    value = 2
    while (n * base * base + value) % prime != 1:
        value += 1
    return digits[value // base] + digits[value % base]


def slow_number(codec: Codec, text: str) -> int | None:
    """The number whose slow text this is, or None; it relies only on ``slow_text``."""
    if len(text) > len(codec.prefix) + codec.bits + 2:  # a digit holds at least one bit
        return None
    head, body = text[: len(codec.prefix)], text[len(codec.prefix) :]
    if codec.encoding == "base32":
        body = "".join(c.upper() if c in "abcdefghijklmnopqrstuvwxyz" else c for c in body)
    digits, width = _digits(codec), 1 if codec.encoding == "base32" else 2
    numerals = body[:-width] if codec.check else body
    if numerals == "" or any(c not in digits for c in numerals):
        return None
    n = 0
    for character in numerals:
        n = n * len(digits) + digits.index(character)
    return n if n < 2**codec.bits and slow_text(codec, n) == head + body else None


def _digits(codec: Codec) -> str:
    return DIGITS.get(codec.encoding) or codec.encoding.removeprefix(OWN)
