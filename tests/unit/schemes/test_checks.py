"""Check digits: each wrong digit and each swap of neighbours is refused, and what they are."""

import numpy as np
import pytest

from frazil.schemes import arrays
from frazil.schemes.alphabet import checks_of, digit_values
from frazil.schemes.codec import Codec

VOWELLESS = "alphabet:0123456789BCDFGHJKMNPQRSTVWXZ"


@pytest.mark.parametrize("n", [0, 1, 7, 96, 97, 123456789, 1425152293497475073, 2**64 - 1])
def test_decimal_has_the_check_digits_of_an_iban(n: int) -> None:
    text = Codec("decimal", 64, check=True).encode(n)
    assert text == f"{n}{98 - n * 100 % 97:02}"
    assert int(text) % 97 == 1


@pytest.mark.parametrize(
    ("encoding", "prime"), [("decimal", 97), ("hex", 251), (VOWELLESS, 839), ("base62", 3833)]
)
def test_a_text_is_one_modulo_a_prime(encoding: str, prime: int) -> None:
    codec = Codec(encoding, 64, check=True)
    assert len(checks_of(encoding)) == prime
    for n in (0, 1, 5000, 2**64 - 1):
        whole = 0
        for character in codec.encode(n):
            values = digit_values(encoding)
            whole = whole * len(values) + values[character]
        assert whole % prime == 1


def faults_missed(encoding: str, count: int) -> int:
    """How many texts with one wrong character, or two in the wrong order, are read as IDs."""
    codec = Codec(encoding, 63, check=True)
    chance = np.random.default_rng(41)
    numbers = chance.integers(1 << 62, 1 << 63, count, dtype=np.uint64)  # texts of one length
    right = codec.encode_array(numbers)
    codes = arrays.codes(right, codec.length)
    assert codes is not None
    symbols = np.array([ord(c) for c in digit_values(encoding)], np.uint8)
    checks = {check: value for value, check in enumerate(checks_of(encoding))}

    def read(rows: np.ndarray) -> np.ndarray:
        return arrays.read(rows, "", encoding, codec.length - 2, codec.limit, checks)[1]

    assert read(codes).all()
    missed = 0
    for at in range(codec.length):
        for symbol in symbols:
            wrong = codes.copy()
            wrong[:, at] = symbol
            missed += int((read(wrong) & (codes[:, at] != symbol)).sum())
        if at:
            swapped = codes.copy()
            swapped[:, [at - 1, at]] = codes[:, [at, at - 1]]
            missed += int((read(swapped) & (codes[:, at - 1] != codes[:, at])).sum())
    return missed


@pytest.mark.parametrize("encoding", ["decimal", VOWELLESS])
def test_each_wrong_character_and_each_swap_is_found(encoding: str) -> None:
    assert faults_missed(encoding, 500) == 0


@pytest.mark.nightly
def test_each_wrong_digit_and_each_swap_of_many_ids_is_found() -> None:
    assert faults_missed("decimal", 100_000) == 0


def test_a_modulus_that_is_no_such_prime_misses_some(monkeypatch: pytest.MonkeyPatch) -> None:
    def modulo_90(_: str) -> tuple[str, ...]:
        return tuple(f"{n:02}" for n in range(90))

    monkeypatch.setattr("frazil.schemes.codec.checks_of", modulo_90)
    monkeypatch.setitem(globals(), "checks_of", modulo_90)
    assert faults_missed("decimal", 20) > 0
