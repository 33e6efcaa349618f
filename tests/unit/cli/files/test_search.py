"""The search for duplicates is exact at every size, in bounded memory."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from frazil.cli.files.memory import Memory
from frazil.cli.files.search import Duplicate, Search

__all__: list[str] = []

AMPLE = Memory(1 << 30)
TIGHT = Memory((320 << 20) + 64_000)  # of which the search uses 16 kB at once


def search(
    keys: list[int] | list[str], folder: Path, memory: Memory = AMPLE
) -> tuple[int, list[Duplicate]]:
    engine = Search(memory, folder)
    for at in range(0, len(keys), 500):
        some = keys[at : at + 500]
        wide = any(isinstance(n, int) and n >> 64 for n in keys)
        row = pa.array(some) if isinstance(some[0], str) else np.array(some, object)
        engine.add(
            row if wide or isinstance(some[0], str) else row.astype(np.uint64),
            np.arange(at, at + len(some)),
        )
    return engine.find(100)


def plain(keys: list[int] | list[str]) -> list[Duplicate]:
    """The same result, with a dict of all keys."""
    seen: dict[int | str, int] = {}
    found = []
    for position, key in enumerate(keys):
        if key in seen:
            found.append(Duplicate(key, seen[key], position))
        seen.setdefault(key, position)
    return found


@pytest.mark.parametrize("memory", [AMPLE, TIGHT])
@pytest.mark.parametrize("bits", [4, 64, 128])
def test_search_equals_a_plain_one(tmp_path, bits, memory):
    dice = random.Random(bits)
    keys = [dice.getrandbits(bits) for _ in range(3000)]
    keys[2999], keys[2998] = keys[0], keys[1500]
    expected = plain(keys)
    assert search(keys, tmp_path, memory) == (len(expected), expected[:100])


@pytest.mark.parametrize("memory", [AMPLE, TIGHT])
def test_texts_are_compared_exactly(tmp_path, memory):
    keys = [f'{i} "line\nbreak" é' for i in range(2000)]
    keys += [keys[3], keys[1999], "3", "03"]
    assert search(keys, tmp_path, memory) == (2, plain(keys))


@pytest.mark.parametrize(
    ("keys", "count"),
    [([1, 2, 3], 0), ([1, 2, 2], 1), ([2, 1], 0), ([*range(500), 499], 1), ([5] * 1200, 1199)],
)
def test_keys_in_order_need_no_search(tmp_path, keys, count):
    assert search(keys, tmp_path)[0] == count


def test_more_keys_than_memory(tmp_path):
    """Two million keys in no order, with one pair, in parts of a hundredth."""
    keys = np.random.default_rng(7).permutation(2_000_000).astype(np.uint64) << np.uint64(20)
    keys[1_999_999] = keys[5]
    engine = Search(Memory((320 + 2) << 20), tmp_path)
    for at in range(0, len(keys), 100_000):
        engine.add(keys[at : at + 100_000], np.arange(at, at + 100_000))
    assert not engine.increasing
    assert engine.find(10) == (1, [Duplicate(int(keys[5]), 5, 1_999_999)])
    assert len(list(tmp_path.iterdir())) > 100


def test_one_key_fills_more_than_the_memory(tmp_path):
    """No hash divides equal keys, so their part is searched a memory's worth at a time."""
    keys = [*[8] * 3000, *range(3000), 7]
    count, found = search(keys, tmp_path, TIGHT)
    assert (count, found) == (3001, plain(keys)[:100])
