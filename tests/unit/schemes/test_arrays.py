"""Columns of IDs: what is a column, and which element is wrong."""

import numpy as np
import pytest

from frazil.errors import CodecError, LayoutError, Misuse
from frazil.schemes.arrays import WIDE
from frazil.schemes.codec import Codec
from frazil.schemes.shuffle import Shuffle


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
