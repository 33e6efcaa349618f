"""The alphabets are the published ones, and sort as their values do."""

from frazil.schemes.alphabet import CHECKS, DIGITS, digit_values


def test_published_alphabets() -> None:
    assert DIGITS["base32"] == "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    assert DIGITS["base58"] == "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    assert DIGITS["base62"] == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert CHECKS == "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U"


def test_only_base32_reads_either_case() -> None:
    assert digit_values("base32")["z"] == digit_values("base32")["Z"] == 31
    assert digit_values("base62")["z"] != digit_values("base62")["Z"]
    assert "A" not in digit_values("hex")
