"""Text in groups, for people: what is read, what is refused, and where an error points."""

import pickle
import re
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frazil
import frazil.pydantic
from frazil.errors import CodecError, ConfigError
from frazil.schemes.alphabet import digits_of
from frazil.schemes.scheme import Scheme

VOWELLESS = "alphabet:0123456789BCDFGHJKMNPQRSTVWXZ"
LOWER = "alphabet:23456789bcdfghjkmnpqrstvwxz"
ENCODINGS = ["decimal", "hex", "base32", "base58", "base62", VOWELLESS, LOWER]


def grouped(encoding: str = "base32", **changes: object) -> Scheme:
    given: dict[str, Any] = {"group": 4, **changes}
    return frazil.scheme("icicle", encoding=encoding, **given)


def test_it_is_written_in_groups() -> None:
    n = 1425240015351840769
    assert grouped().format(n) == "17HV-R7RH-BG00-1"
    assert grouped(check=True, prefix="order_").format(n) == "order_17HV-R7RH-BG00-1E"
    assert grouped("decimal", check=True).format(n) == "1425-2400-1535-1840-7695-7"
    assert grouped(group=99).format(n) == grouped(group=0).format(n).replace("-", "")
    assert grouped(VOWELLESS, group=7, check=True).format(n).count("-") == 2


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("-17HV-R7RH-BG00-1", 0, "one separator"),
        ("17HV--R7RH-BG00-1", 4, "one separator"),
        ("17HV - R7RH-BG00-1", 4, "one separator"),
        ("17HV-R7RH-BG00-1-", 16, "one separator"),
        ("17HV-R7RH-BG00-1 ", 16, "one separator"),
        ("17HV_R7RH_BG00_1", 4, "'_' is not a character"),
        ("17HV-U7RH-BG00-1", 5, "did you mean V"),
        ("17HV-R7RH-BG00", 14, "ends after 12 of 13"),
        ("17HV-R7RH-BG00-1-1", 17, "must end after 13"),
        ("ZZHV-R7RH-BG00-1", 0, "larger"),
        ("17HV-R7RH-BG00-1" + "-1" * 1000, 17, "must end after 13"),
        ("", 0, "ends after 0"),
    ],
)
def test_an_error_points_into_what_was_typed(text: str, position: int, reason: str) -> None:
    for read in (grouped().parse, lambda one: grouped().codec.decode_array([one])):
        with pytest.raises(CodecError, match=reason) as caught:
            read(text)
        assert caught.value.position == position
        assert caught.value.text == text[:256]
    if text:
        assert not re.search(grouped().pattern, text, re.ASCII) or "larger" in reason


def test_the_prefix_is_read_as_it_is_written() -> None:
    s = grouped(prefix="order_")
    assert s.parse("order_17hv-r7rh-bg00-1") == s.parse("order_l7HVR7RHBGOOi")
    for wrong in ("ORDER_17HV-R7RH-BG00-1", "order-17HV-R7RH-BG00-1", "order_-17HV-R7RH-BG00-1"):
        with pytest.raises(CodecError):
            s.parse(wrong)


@pytest.mark.parametrize("encoding", ["base62", "base58", "alphabet:aAbBcC01"])
def test_where_the_case_matters_nothing_is_guessed(encoding: str) -> None:
    s = grouped(encoding)
    text = s.format(2**63 - 1)
    assert s.parse(text.replace("-", "")) == s.parse(text.replace("-", " ")) == 2**63 - 1
    assert s.codec.limit == 2**64 - 1
    with suppress(CodecError):
        assert s.parse(text.swapcase()) != 2**63 - 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"group": -1}, "at least 1"),
        ({"group": True}, "at least 1"),
        ({"group": "4"}, "at least 1"),
        ({"encoding": "alphabet:0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, "0 and O"),
        ({"encoding": "alphabet:bcdfghjkl1"}, "l and 1"),
    ],
)
def test_what_cannot_be(options: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        grouped(**options)
    if "encoding" in options:  # without groups nothing is read as another character
        s = grouped(**options, group=0)
        assert s.parse(s.format(7)) == 7


def test_a_uuid_has_groups_of_its_own() -> None:
    with pytest.raises(ConfigError, match="groups of its own"):
        frazil.scheme("uuid7", group=4)


def test_with_a_key() -> None:
    s = grouped(prefix="order_", key=bytes(range(16)), check=True)
    n = 1425240015351840769
    text = s.format(n)
    assert text.startswith("order_1")
    assert s.parse(text.lower().replace("-", " ")) == n
    assert s.codec.decode_array([text, s.format(7)]).tolist() == [n, 7]


@pytest.mark.parametrize(
    "alphabet", ["TCYUI", "l23456789", "abcdefghijkmn", "0xi", "abcdefghjkmnpqrstvwxyz"]
)
def test_the_number_of_a_key_is_none_of_the_alphabet(alphabet: str) -> None:
    """It is read with every alphabet, and what looks like 1 is 1 there, whatever it is later."""
    s = frazil.scheme("icicle", encoding=f"alphabet:{alphabet}", group=4, key=bytes(range(16)))
    for n in (0, 1425240015351840769):
        text = s.format(n)
        assert text[0] == "1"
        for first in "1IiLl":
            typed = first + text[1:]
            assert s.read(typed) == n
            assert re.fullmatch(s.pattern, typed)
        assert s.parse_many([text]).tolist() == [n]


def test_it_is_a_value() -> None:
    s = grouped(check=True)
    assert pickle.loads(pickle.dumps(s)) == s != grouped()
    assert frazil.scheme(s) is s
    assert frazil.scheme(s, prefix="a_").group == 4
    assert s.fingerprint == frazil.scheme("icicle").fingerprint


@st.composite
def typed(draw: st.DrawFn) -> tuple[Scheme, int, str]:
    """An ID, and its text as a person may type it."""
    encoding = draw(st.sampled_from(ENCODINGS))
    group, check = draw(st.integers(1, 15)), draw(st.booleans())
    prefix = draw(st.sampled_from(["", "order_"]))
    s = frazil.scheme("icicle", encoding=encoding, group=group, check=check, prefix=prefix)
    n = draw(st.integers(0, 2**63 - 1))
    digits = digits_of(encoding)
    alike = {c: c for c in s.format(n)}
    if digits in (digits.upper(), digits.lower()):
        for digit in alike:
            others = next((them for them in ("0Oo", "1IiLl") if digit in them), digit)
            if sum(c in digits for c in others) < 2:
                alike[digit] = others + digit.swapcase()
    body = s.format(n).removeprefix(prefix).replace("-", "")
    written = [draw(st.sampled_from(sorted(alike[c]))) for c in body]
    between = [draw(st.sampled_from(["", "-", " "])) for _ in body[1:]] + [""]
    return s, n, prefix + "".join(map("".join, zip(written, between, strict=True)))


@given(typed())
def test_every_way_to_type_it_is_read(case: tuple[Scheme, int, str]) -> None:
    s, n, text = case
    assert s.read(text) == n
    assert re.search(s.pattern, text, re.ASCII)
    assert s.codec.decode_array([text]).tolist() == [n]


@given(st.lists(st.integers(0, 2**63 - 1)), st.sampled_from(ENCODINGS[1:]), st.integers(1, 15))
def test_texts_sort_as_numbers(numbers: list[int], encoding: str, group: int) -> None:
    s = grouped(encoding, group=group)
    assert sorted(map(s.format, numbers)) == [s.format(n) for n in sorted(numbers)]
    column = s.codec.encode_array(np.array(numbers, np.uint64)).astype(str).tolist()
    assert column == [s.format(n) for n in numbers]


def test_an_alphabet_in_another_order_does_not_sort() -> None:
    s = frazil.scheme("icicle", encoding="alphabet:BCDFGHJKMNPQRSTVWXZ0123456789")
    assert s.parse(s.format(2**63 - 1)) == 2**63 - 1
    assert s.format(19) < s.format(0)
