"""The codec beside a slow one that does what the words say, one division at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence.fuzz.codecs import ALPHABETS, slow_number, slow_text
from frazil.errors import CodecError
from frazil.schemes.alphabet import CHECKS, DIGITS, digits_of
from frazil.schemes.arrays import ints
from frazil.schemes.codec import Codec


@st.composite
def codecs(draw: st.DrawFn) -> Codec:
    encoding = draw(st.sampled_from([*sorted(DIGITS), *ALPHABETS]))
    return Codec(
        encoding,
        draw(st.integers(1, 128)),
        prefix=draw(st.sampled_from(["", "a_", "order_", "Shop_order2_"])),
        check=len(digits_of(encoding)) > 2 and draw(st.booleans()),
    )


def numbers(bits: int) -> st.SearchStrategy[int]:
    """All sizes alike, the ends of the width often."""
    small = st.integers(0, bits).flatmap(lambda size: st.integers(0, 2**size - 1))
    return small | small.map(lambda n: 2**bits - 1 - n)


@st.composite
def near_texts(draw: st.DrawFn) -> tuple[Codec, str]:
    """A text that is right, or wrong in one or two characters, or wrong altogether."""
    codec = draw(codecs())
    text = codec.encode(draw(numbers(codec.bits)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        symbols = "09azAZ_- +OoIlLUuGg*~$=\0\n\u0663\u017f\u212a" + digits_of(codec.encoding)
        put = draw(st.sampled_from(["", *symbols]))
        text = text[:at] + put + text[at + draw(st.integers(0, 1)) :]
    return codec, draw(st.just(text) | st.text(max_size=60))


@given(st.data(), codecs())
def test_text_and_number_are_one_to_one(data: st.DataObject, codec: Codec) -> None:
    n = data.draw(numbers(codec.bits))
    text = codec.encode(n)
    assert text == slow_text(codec, n)
    assert codec.decode(text) == n
    assert codec.from_bytes(codec.to_bytes(n)) == n


@given(near_texts())
def test_a_text_is_read_exactly_if_it_is_one(case: tuple[Codec, str]) -> None:
    codec, text = case
    expected = slow_number(codec, text)
    if expected is not None:
        assert codec.decode(text) == expected
        return
    with pytest.raises(CodecError) as error:
        codec.decode(text)
    position = error.value.facts["position"]
    assert 0 <= position <= len(text)
    assert error.value.facts["character"] == text[position : position + 1]
    assert position == len(text) or not can_begin(codec, text[: position + 1], len(text))


def can_begin(codec: Codec, start: str, length: int) -> bool:
    """Whether the text of some ID begins so; in decimal, one of ``length`` characters."""
    head, body = start[: len(codec.prefix)], start[len(codec.prefix) :]
    if not codec.prefix.startswith(head):
        return False
    if body == "":
        return True
    if codec.width is None:
        return slow_number(codec, start + "0" * (length - len(start))) is not None
    if len(body) > codec.width:
        return slow_number(codec, start) is not None
    least = body + digits_of(codec.encoding)[0] * (codec.width - len(body))
    return slow_number(Codec(codec.encoding, codec.bits), least) is not None


@given(st.lists(near_texts().map(lambda case: case[1]), max_size=6), st.data(), codecs())
def test_columns_are_read_as_single_texts_are(
    others: list[str], data: st.DataObject, codec: Codec
) -> None:
    rows = data.draw(st.lists(numbers(codec.bits), max_size=20))
    texts = [codec.encode(n) for n in rows]
    if others:
        texts.insert(data.draw(st.integers(0, len(texts))), others[0])
    expected = [slow_number(codec, text) for text in texts]
    forms: list[list[str] | np.ndarray] = [texts]
    if not any(text.endswith("\0") for text in texts):
        forms.append(np.array(texts, "U"))
        if all(text.isascii() for text in texts):
            forms.append(np.array(texts, "S"))
    for form in forms:
        if None in expected:
            with pytest.raises(CodecError) as error:
                codec.decode_array(form)
            assert error.value.facts["index"] == expected.index(None)
        else:
            column = codec.decode_array(form)
            assert ints(column) == expected


@given(st.data(), codecs())
def test_columns_are_written_as_single_numbers_are(data: st.DataObject, codec: Codec) -> None:
    rows = data.draw(st.lists(numbers(codec.bits), max_size=20))
    if codec.bits > 64:
        pairs = [(n >> 64, n & (2**64 - 1)) for n in rows]
        column = codec.encode_array(np.array(pairs, [("hi", "<u8"), ("lo", "<u8")]))
    else:
        column = codec.encode_array(np.array(rows, np.uint64))
    assert [text.decode() for text in column.tolist()] == [slow_text(codec, n) for n in rows]


@given(st.data(), st.integers(5, 128), st.sampled_from([*DIGITS, *ALPHABETS[1:]]))
def test_the_check_finds_one_wrong_character_and_one_swap(
    data: st.DataObject, bits: int, encoding: str
) -> None:
    codec = Codec(encoding, bits, check=True)
    n = data.draw(numbers(bits))
    text = codec.encode(n)
    at = data.draw(st.integers(0, len(text) - 1))
    crockfords = encoding == "base32" and at == len(text) - 1
    symbols = CHECKS if crockfords else digits_of(encoding)
    wrong = text[:at] + data.draw(st.sampled_from(symbols)) + text[at + 1 :]
    swapped = text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
    for misread in {wrong, swapped} - {text}:
        with pytest.raises(CodecError):
            codec.decode(misread)
