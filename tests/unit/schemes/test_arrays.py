"""Columns of IDs: what is a column, and which element is wrong."""

import numpy as np
import pytest

from frazil.errors import CodecError, LayoutError, Misuse
from frazil.schemes.alphabet import DIGITS
from frazil.schemes.arrays import WIDE
from frazil.schemes.codec import Codec
from frazil.schemes.shuffle import Shuffle


@pytest.mark.parametrize("encoding", DIGITS)
def test_a_column_equals_its_elements(encoding: str) -> None:
    codec = Codec(encoding, 64, prefix="order_", check=encoding == "base32")
    numbers = np.array(
        [0, 2**64 - 1] + [10**i for i in range(20)] + [10**i - 1 for i in range(20)], np.uint64
    )
    column = codec.encode_array(numbers)
    assert column.dtype.kind == "S"
    texts = [codec.encode(n) for n in numbers.tolist()]
    assert [text.decode() for text in column.tolist()] == texts
    for same in (column, texts, iter(texts), np.array(texts), np.array(texts, object)):
        decoded = codec.decode_array(same)
        assert decoded.dtype == np.uint64
        assert (decoded == numbers).all()


def test_wide_columns_have_two_halves() -> None:
    codec = Codec("hex", 100)
    numbers = np.array([(0, 7), (2**36 - 1, 2**64 - 1)], WIDE)
    column = codec.encode_array(numbers)
    assert column.tolist() == [b"0" * 24 + b"7", b"f" * 25]
    assert (codec.decode_array(column) == numbers).all()
    assert codec.decode_array(column).dtype == WIDE
    with pytest.raises(CodecError) as error:
        codec.encode_array(np.array([(0, 0), (2**36, 0)], WIDE))
    assert error.value.facts == {"index": 1, "value": 2**100, "limit": 2**100 - 1}
    with pytest.raises(CodecError, match="element 1"):
        codec.decode_array(["0" * 25, "0" * 24])


def test_empty_columns() -> None:
    for bits in (64, 128):
        for encoding in DIGITS:
            codec = Codec(encoding, bits)
            for nothing in ([], np.array([], "S"), np.array([], "U")):
                numbers = codec.decode_array(nothing)
                assert len(numbers) == 0
                assert len(codec.encode_array(numbers)) == 0


def test_a_column_wider_or_narrower_than_the_text() -> None:
    codec = Codec("hex", 8)
    assert codec.decode_array(np.array([b"07", b"ff"], "S20")).tolist() == [7, 255]
    assert codec.decode_array(np.array(["07", "ff"], ">U20")).tolist() == [7, 255]
    assert codec.decode_array(np.array([b"07x", b"ff"])[1:]).tolist() == [255]
    assert codec.decode_array(np.array([b"07", b"xx", b"ff"])[::2]).tolist() == [7, 255]
    with pytest.raises(CodecError) as error:
        codec.decode_array(np.array([b"7", b"f"]))
    assert (error.value.facts["index"], error.value.facts["position"]) == (0, 1)


@pytest.mark.parametrize(
    "column",
    [
        np.array([b"07", b"07\xe9"]),
        np.array([b"07", b"\xe97"]),
        np.array(["07", "\u066307"]),
        np.array(["07", "0\u0137"]),  # its low byte is an ASCII digit
        ["07", "07\0"],
        ["07", "7\0"],
        ["07", None],
        ["07", b"07"],
        np.array(["07", 7], object),
    ],
    ids=repr,
)
def test_columns_are_read_as_strictly_as_single_texts(column: object) -> None:
    with pytest.raises(CodecError) as error:
        Codec("hex", 8).decode_array(column)  # type: ignore[arg-type]
    assert error.value.facts["index"] == 1


@pytest.mark.parametrize("text", ["1\0", "\0", "\x001", "01", "", "256", "999"])
def test_decimal_columns_are_read_as_strictly_as_single_texts(text: str) -> None:
    with pytest.raises(CodecError) as error:
        Codec("decimal", 8).decode_array(["0", "255", text])
    assert error.value.facts["index"] == 2


@pytest.mark.parametrize("text", [b"1\x001", b"\x001", b"01", b"", b"256"])
def test_decimal_bytes_are_read_as_strictly(text: bytes) -> None:
    with pytest.raises(CodecError) as error:
        Codec("decimal", 8).decode_array(np.array([b"0", b"255", text]))
    assert error.value.facts["index"] == 2


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2],
        np.array([1.0]),
        np.array([True]),
        np.array(["1"]),
        np.array([1], object),
        np.array([[1]]),
        np.array(1),
        np.array([(0, 1)], WIDE),
    ],
    ids=repr,
)
def test_arguments_that_are_not_arrays_of_numbers(numbers: object) -> None:
    for call in (Codec("hex", 8).encode_array, Shuffle((1, 0)).apply_array):
        with pytest.raises(Misuse, match="uint64"):
            call(numbers)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="'hi'"):
        Codec("hex", 65).encode_array(np.array([1]))


@pytest.mark.parametrize("texts", ["07", b"07", np.array([["07"]]), np.array("07")], ids=repr)
def test_arguments_that_are_not_lists_of_texts(texts: object) -> None:
    with pytest.raises(Misuse, match="list"):
        Codec("hex", 8).decode_array(texts)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [np.array([0, 256], np.uint64), np.array([255, -1])])
def test_the_first_number_out_of_range_is_named(numbers: np.ndarray) -> None:
    with pytest.raises(CodecError) as error:
        Codec("hex", 8).encode_array(numbers)
    facts = {"index": 1, "value": int(numbers[1]), "limit": 255}
    assert error.value.facts == facts
    with pytest.raises(LayoutError) as shuffled:
        Shuffle(tuple(range(8))).apply_array(numbers)
    assert shuffled.value.facts == {"field": "ID", **facts}


def test_a_negative_number_does_not_come_round_from_the_top() -> None:
    with pytest.raises(CodecError, match="element 0"):
        Codec("hex", 64).encode_array(np.array([-1]))


def test_small_and_signed_integers_are_numbers() -> None:
    for dtype in ("i1", "u1", "<i4", ">u8"):
        assert Codec("hex", 8).encode_array(np.array([7, 100], dtype)).tolist() == [b"07", b"64"]
