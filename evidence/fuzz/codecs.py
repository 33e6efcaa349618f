"""The texts of IDs, compared with a slow codec that divides one digit at a time."""

from evidence.fuzz.accepted import accepted
from frazil.schemes.alphabet import CHECKS, DIGITS
from frazil.schemes.codec import Codec

__all__ = ["check_codecs", "slow_number", "slow_text"]

_CODECS = [
    *(Codec(encoding, bits) for encoding in DIGITS for bits in (1, 47, 64, 128)),
    *(Codec("base32", bits, check=True) for bits in (47, 64, 128)),
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
    digits = DIGITS[codec.encoding]
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
    return codec.prefix + text + (CHECKS[n % 37] if codec.check else "")


def slow_number(codec: Codec, text: str) -> int | None:
    """The number whose slow text this is, or None; it relies only on ``slow_text``."""
    if len(text) > len(codec.prefix) + codec.bits + 1:  # a digit holds at least one bit
        return None
    head, body = text[: len(codec.prefix)], text[len(codec.prefix) :]
    if codec.encoding == "base32":
        body = "".join(c.upper() if c in "abcdefghijklmnopqrstuvwxyz" else c for c in body)
    digits = body[:-1] if codec.check else body
    if digits == "" or any(c not in DIGITS[codec.encoding] for c in digits):
        return None
    n = 0
    for character in digits:
        n = n * len(DIGITS[codec.encoding]) + DIGITS[codec.encoding].index(character)
    return n if n < 2**codec.bits and slow_text(codec, n) == head + body else None
