"""What a codec writes, what it refuses to read, and where it points.

The alphabets are the published ones, and sort as their values do.
"""

import re
import uuid

import pytest

from frazil.errors import CodecError, ConfigError
from frazil.schemes.alphabet import CHECKS, DIGITS
from frazil.schemes.codec import Codec


def test_uuid_is_the_text_of_pythons() -> None:
    codec = Codec("uuid", 128, prefix="order_")
    for n in (0, 1, 2**128 - 1, 0x0190A5C81B2C7DEF8123456789ABCDEF):
        assert codec.encode(n) == f"order_{uuid.UUID(int=n)}"
        assert codec.decode(codec.encode(n)) == n
        assert re.search(codec.pattern, codec.encode(n), re.ASCII)
    texts = [codec.encode(n) for n in (5, 2**127)]
    assert codec.encode_array(codec.decode_array(texts)).tolist() == [t.encode() for t in texts]
    assert not re.search(codec.pattern, "order_" + UUID.replace("-", ""))


@pytest.mark.parametrize(
    "prefix",
    ["order", "_", "_order_", "1order_", "or-der_", "ordér_", "a__", "a" * 32 + "_", "a_\n", "a_ "],
)
def test_prefix_that_could_be_mistaken(prefix: str) -> None:
    with pytest.raises(ConfigError) as error:
        Codec("hex", 64, prefix=prefix)
    assert error.value.facts["prefix"] == prefix


@pytest.mark.parametrize(
    ("arguments", "options", "word"),
    [
        (("base64", 64), {}, "base62"),
        (("hex", 0), {}, "128"),
        (("hex", 129), {}, "128"),
        (("hex", True), {}, "128"),
        (("alphabet:ab", 64), {"check": True}, "base32"),
        (("alphabet:", 64), {}, "2 or more different"),
        (("alphabet:ABA", 64), {}, "2 or more different"),
        (("alphabet:AB-", 64), {}, "2 or more different"),
        (("alphabet:ABé", 64), {}, "2 or more different"),
        (("BCDFGH", 64), {}, "'alphabet:'"),
        (("hex", 64), {"prefix": None}, "order_"),
        (("uuid", 64), {}, "'uuid7'"),
        (("uuid", 128), {"check": True}, "base32"),
    ],
)
def test_codecs_that_cannot_be(
    arguments: tuple[str, int], options: dict[str, bool], word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        Codec(*arguments, **options)  # type: ignore[arg-type]


# (encoding, bits, prefix, check), text, position, part of the reason
UUID = "0190a5c8-1b2c-7def-8123-456789abcdef"
WRONG = [
    (("uuid", 128, "", False), "", 0, "ends after 0 of 36"),
    (("uuid", 128, "", False), UUID[:-1], 35, "ends after 35 of 36"),
    (("uuid", 128, "", False), UUID + "0", 36, "must end after 36"),
    (("uuid", 128, "", False), UUID.upper(), 4, "lower case"),
    (("uuid", 128, "", False), UUID.replace("-", ""), 8, "has '-' here"),
    (("uuid", 128, "", False), UUID.replace("-", "", 1), 8, "has '-' here"),
    (("uuid", 128, "", False), UUID.replace("-7def", "7-def"), 13, "has '-' here"),
    (("uuid", 128, "", False), "-" + UUID[1:], 0, "not a character"),
    (("uuid", 128, "", False), "{" + UUID + "}", 0, "not a character"),
    (("uuid", 128, "id_", False), "id_" + UUID[:8] + "_" + UUID[9:], 11, "has '-' here"),
    (("decimal", 64, "", False), "", 0, "missing"),
    (("decimal", 64, "", False), "00", 0, "leading zeros"),
    (("decimal", 64, "", False), "+1", 0, "not a character"),
    (("decimal", 64, "", False), "1_0", 1, "not a character"),
    (("decimal", 64, "", False), "1\n", 1, "not a character"),
    (("decimal", 64, "", False), "1\0", 1, "not a character"),
    (("decimal", 64, "", False), "1\u0663", 1, "not a character"),
    (("decimal", 64, "", False), "18446744073709551616", 19, "largest"),
    (("decimal", 64, "", False), "28446744073709551615", 0, "largest"),
    (("decimal", 64, "", False), "184467440737095516150", 20, "must end"),
    (("decimal", 64, "", True), "142515229349747507324", 19, "the check characters do not fit"),
    (("decimal", 64, "", True), "1425152293497475073x3", 19, "not a character"),
    (("decimal", 64, "", True), "23", 0, "the number is missing"),
    (("decimal", 64, "", True), "0123", 0, "no leading zeros"),
    (("decimal", 64, "", True), "12345678901234567890123", 22, "must end after 22"),
    (("decimal", 64, "", True), "1844674407370955161697", 19, "larger than"),
    (("hex", 64, "", False), "07617B3c4e802000", 5, "did you mean b"),
    (("hex", 64, "", False), "0x617b3c4e802000", 1, "not a character"),
    (("hex", 64, "", False), "7617b3c4e802000", 15, "ends after 15 of 16"),
    (("hex", 63, "", False), "8000000000000000", 0, "largest"),
    (("base62", 47, "", False), "2Vzn-E2i", 4, "not a character"),
    (("base62", 47, "", False), "2VznWE2", 7, "ends after"),
    (("base62", 47, "", False), "dxlGgaI4", 7, "largest"),
    (("base58", 64, "", False), "1111111111l", 10, "leaves out"),
    (("base58", 64, "", False), "jpXCZedGfVR", 10, "largest"),
    (("base32", 64, "", False), "0000000000O00", 10, "did you mean 0"),
    (("base32", 64, "", False), "000000000000i", 12, "did you mean 1"),
    (("base32", 64, "", False), "U000000000000", 0, "did you mean V"),
    (("base32", 64, "", False), "g000000000000", 0, "largest"),
    (("base32", 64, "", False), "\u017f000000000000", 0, "not a character"),
    (("base32", 11, "", True), "16JE", 3, "misread"),
    (("base32", 11, "", True), "16J", 3, "ends after"),
    (("base32", 11, "", True), "16JO", 3, "did you mean 0"),
    (("base32", 11, "", True), "16JDD", 4, "must end"),
    (("base32", 11, "", True), "00\u017f1", 2, "not a character"),
    (("base32", 11, "", True), "00T\u017f", 3, "not a character"),
    (("hex", 8, "order_", False), "ff", 0, "begin with 'order_'"),
    (("hex", 8, "order_", False), "", 0, "begin with 'order_'"),
    (("hex", 8, "order_", False), "Order_ff", 0, "begin with 'order_'"),
    (("hex", 8, "order_", False), "order-ff", 5, "begin with 'order_'"),
    (("hex", 8, "order_", False), "order_fg", 7, "not a character"),
    (("decimal", 8, "order_", False), "order_", 6, "missing"),
    (("base32", 5, "o_", True), "o_", 2, "ends after"),
]


@pytest.mark.parametrize(("shape", "text", "position", "reason"), WRONG)
def test_an_error_shows_the_wrong_character(
    shape: tuple[str, int, str, bool], text: str, position: int, reason: str
) -> None:
    encoding, bits, prefix, check = shape
    codec = Codec(encoding, bits, prefix=prefix, check=check)
    with pytest.raises(CodecError) as error:
        codec.decode(text)
    facts = error.value.facts
    assert facts == {"text": text, "position": position, "character": text[position : position + 1]}
    assert reason in str(error.value)
    with pytest.raises(CodecError) as bulk:
        codec.decode_array([codec.encode(0), text, codec.encode(1)])
    assert bulk.value.facts == {"index": 1, **facts}
    assert str(bulk.value) == f"element 1: {error.value}"


def test_the_caret_stays_in_line_behind_characters_that_do_not_print() -> None:
    with pytest.raises(CodecError) as error:
        Codec("hex", 64).decode("0123\x1b[31m\u4f60")
    _, drawn, caret = str(error.value).split("\n")
    assert drawn.isprintable()
    assert drawn.isascii()
    assert drawn[caret.index("^") :].startswith("\\x1b[31m")


@pytest.mark.parametrize("text", [b"07", 7, None, ["07"]])
def test_only_str_is_text(text: object) -> None:
    with pytest.raises(CodecError, match="str"):
        Codec("hex", 8).decode(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "n", [-1, 256, 2**200, 1 << 100_000], ids=["negative", "256", "wide", "very wide"]
)
def test_numbers_out_of_range(n: int) -> None:
    for encode in (Codec("hex", 8).encode, Codec("hex", 8).to_bytes):
        with pytest.raises(CodecError) as error:
            encode(n)
        assert error.value.facts == {"value": n, "limit": 255}
        assert len(str(error.value)) < 200


def test_raw_bytes() -> None:
    codec = Codec("hex", 47)
    assert codec.to_bytes(0x0102) == b"\0\0\0\0\x01\x02"
    assert codec.from_bytes(b"\0\0\0\0\x01\x02") == 0x0102
    assert codec.from_bytes(memoryview(bytearray(b"\0\0\0\0\x01\x02"))) == 0x0102
    for wrong in (b"", b"\0" * 5, b"\0" * 7, b"\xff" * 6):
        with pytest.raises(CodecError):
            codec.from_bytes(wrong)
    with pytest.raises(CodecError, match="str"):
        codec.from_bytes("\0" * 6)  # type: ignore[arg-type]


def test_published_alphabets() -> None:
    assert DIGITS["base32"] == "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    assert DIGITS["base58"] == "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    assert DIGITS["base62"] == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert CHECKS == "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U"
