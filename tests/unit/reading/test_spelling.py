"""A text as a number: every encoding, and what other programs do to numbers on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.reading.guess import readings
from frazil.schemes.alphabet import DIGITS
from frazil.schemes.codec import Codec

N = 0x13C2938275400000


def found(text: str, bits: int = 64) -> dict[str, int]:
    return {reading.encoding_text: reading.number for reading in readings(text, bits)}


def test_base32_that_begins_like_hex():
    text = Codec("base32", 64).encode(1_044_835_113_549_955_072)
    assert text.startswith("0X")
    assert found(text)["base32"] == 1_044_835_113_549_955_072


@given(st.sampled_from([40, 47, 53, 64, 128]), st.data(), st.sampled_from(list(DIGITS)))
def test_every_text_is_read_back(bits, data, encoding):
    n = data.draw(st.integers(0, (1 << bits) - 1))
    assert found(Codec(encoding, bits).encode(n), bits)[encoding] == n


@pytest.mark.parametrize("text", ["0x13C2938275400000", "13C2938275400000", "0X13c2938275400000"])
def test_hex_as_others_write_it(text):
    assert found(text)["hex"] == N


def test_signed():
    assert found("-1") == {"decimal": (1 << 64) - 1}
    assert found(str(-(1 << 63))) == {"decimal": 1 << 63}
    assert found(str(-(1 << 63) - 1)) == {}
    assert found("-0") == {}
    assert found("-1", bits=53) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "_",
        "0123",
        "²",
        "99999999999999999999",
        "a b_12345",
        "9_12345",
        "a__12345",
    ],
)
def test_no_id(text):
    assert found(text) == {}
