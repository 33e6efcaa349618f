"""The shuffle beside a slow one that moves one bit after the other."""

from hashlib import sha256

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from frazil.schemes.shuffle import Shuffle


def slow_apply(table: tuple[int, ...], n: int) -> int:
    """Output bit i from the top is input bit ``table[i]`` from the top, in characters."""
    bits = f"{n:0{len(table)}b}"
    return int("".join(bits[source] for source in table), 2)


def slow_table(seed: str, bits: int) -> tuple[int, ...]:
    """Method v1 in the words of the module: digests, words of 64 bits, exchanges from the end."""
    words: list[int] = []
    for counter in range(32):
        digest = sha256(f"frazil shuffle v1 {bits} {counter} {seed}".encode())
        words += [int(digest.hexdigest()[i : i + 16], 16) for i in (0, 16, 32, 48)]
    table = list(range(bits))
    for i in reversed(range(1, bits)):
        j = words.pop(0) % (i + 1)
        table[i], table[j] = table[j], table[i]
    return tuple(table)


@given(st.text(min_size=1), st.integers(1, 128))
def test_seeds_follow_the_published_method(seed: str, bits: int) -> None:
    assert Shuffle.from_seed(seed, bits).table == slow_table(seed, bits)


@st.composite
def shuffles(draw: st.DrawFn) -> Shuffle:
    bits = draw(st.integers(1, 128))
    if draw(st.booleans()):
        return Shuffle.from_seed(draw(st.integers() | st.text("abc:", min_size=1)), bits)
    return Shuffle(tuple(draw(st.permutations(range(bits)))))


@given(st.data(), shuffles())
def test_every_bit_goes_where_the_table_says_and_back(data: st.DataObject, s: Shuffle) -> None:
    n = data.draw(st.integers(0, 2**s.bits - 1))
    image = s.apply(n)
    assert image == slow_apply(s.table, n)
    assert s.invert(image) == n
    assert slow_apply(s.inverse, image) == n
    bit = data.draw(st.integers(0, s.bits - 1))
    assert image >> s.position_of(bit) & 1 == n >> bit & 1


@given(shuffles())
def test_texts_round_trip(s: Shuffle) -> None:
    assert Shuffle.parse(s.text, s.bits) == s


@given(st.data(), shuffles())
def test_arrays_are_shuffled_as_single_numbers_are(data: st.DataObject, s: Shuffle) -> None:
    rows = data.draw(st.lists(st.integers(0, 2**s.bits - 1), max_size=20))
    if s.bits <= 64:
        images = s.apply_array(np.array(rows, np.uint64))
        assert s.invert_array(images).tolist() == rows
        assert images.tolist() == [s.apply(n) for n in rows]
    else:
        pairs = [(n >> 64, n & (2**64 - 1)) for n in rows]
        images = s.apply_array(np.array(pairs, [("hi", "<u8"), ("lo", "<u8")]))
        assert s.invert_array(images).tolist() == pairs
        assert [hi << 64 | lo for hi, lo in images.tolist()] == [s.apply(n) for n in rows]
