"""The search for duplicates is exact at every size, in bounded memory."""

import random
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from frazil.cli.files.duplicates import Duplicate, Duplicates, Key, _hash

__all__: list[str] = []

MIB = 1 << 20


def search(keys: list[Key], folder: Path, memory: int = MIB) -> tuple[list[Duplicate], Duplicates]:
    folder.mkdir(exist_ok=True)
    engine = Duplicates(memory, folder)
    found: list[Duplicate] = []
    for at in range(0, len(keys), 5000):
        found += engine.add(keys[at : at + 5000], range(at, min(at + 5000, len(keys))))
    found += engine.rest()
    return sorted(found, key=lambda one: one.again), engine


def plain(keys: list[Key]) -> list[Duplicate]:
    """The same result, with a dict of all keys."""
    seen: dict[Key, int] = {}
    found = []
    for position, key in enumerate(keys):
        if key in seen:
            found.append(Duplicate(key, seen[key], position))
        seen.setdefault(key, position)
    return found


def test_small_input_needs_no_files(tmp_path):
    found, engine = search([5, 7, 5, 5], tmp_path)
    assert found == [Duplicate(5, 0, 2), Duplicate(5, 0, 3)]
    assert (engine.parts, engine.spilled) == (0, 0)


def test_text_and_number_are_different_keys(tmp_path):
    assert search(["5", 5, "05"], tmp_path)[0] == []


@pytest.mark.parametrize("bits", [10, 64, 128])
def test_large_input_equals_a_plain_search(tmp_path, bits):
    dice = random.Random(bits)
    keys: list[Key] = [dice.getrandbits(bits) for _ in range(60_000)]
    keys[59_999] = keys[0]  # found by the dict that is full
    keys[59_998] = keys[30_000]  # found in a file
    found, engine = search(keys, tmp_path)
    assert found == plain(keys)
    assert len(found) >= 2
    assert (engine.parts > 0) == (bits > 10)
    assert list(tmp_path.iterdir()) == []


def test_files_keep_every_text(tmp_path):
    keys: list[Key] = [f'{i} "line\nbreak" \udc80 é' for i in range(20_000)]
    keys += [keys[3], keys[19_999]]
    found, engine = search(keys, tmp_path)
    assert [(one.first, one.again) for one in found] == [(3, 20_000), (19_999, 20_001)]
    assert engine.parts > 0


def test_large_files_are_divided_again(tmp_path, monkeypatch):
    monkeypatch.setattr("frazil.cli.files.duplicates._PART_BITS", 1)
    monkeypatch.setattr("frazil.cli.files.duplicates._PARTS", 2)
    levels: list[int] = []
    real = Duplicates.__init__

    def spy(self: Duplicates, memory: int, folder: Path, level: int = 0) -> None:
        levels.append(level)
        real(self, memory, folder, level)

    monkeypatch.setattr(Duplicates, "__init__", spy)
    keys: list[Key] = list(range(100_000))
    found, engine = search([*keys, 99_999, 0, 50_000], tmp_path)
    assert [(one.first, one.again) for one in found] == [
        (99_999, 100_000),
        (0, 100_001),
        (50_000, 100_002),
    ]
    assert engine.parts > 2 + 2 * 2
    assert 3 <= max(levels) <= 5  # each level halves what is left; taking dictfuls away needs 12


def test_all_keys_equal(tmp_path):
    """No hash separates them; the search ends because each level removes its first key."""
    found, engine = search([7] * 50_000, tmp_path)
    assert len(found) == 49_999
    assert {one.first for one in found} == {0}
    keys: list[Key] = [*range(20_000), *[77_777] * 50_000]
    found, engine = search(keys, tmp_path)
    assert len(found) == 49_999
    assert {one.first for one in found} == {20_000}
    assert engine.parts > 0


@pytest.mark.long
def test_memory_stays_within_its_limit(tmp_path):
    """A set of these keys would need ten times as much."""

    def measured(count: int) -> int:
        tracemalloc.start()
        engine = Duplicates(MIB, tmp_path)
        for at in range(0, count, 1000):
            engine.add([n * 977 for n in range(at, at + 1000)], range(at, at + 1000))
        assert not any(True for _ in engine.rest())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert engine.parts > 0
        return peak

    # This also counts the memory of other threads.
    few, many = measured(20_000), min(measured(100_000) for _ in range(3))
    assert many < 3 * MIB
    assert many < few * 1.5


def test_rest_reports_progress(tmp_path):
    engine = Duplicates(MIB, tmp_path)
    engine.add(list(range(30_000)), range(30_000))
    told: list[int] = []
    assert list(engine.rest(told.append)) == []
    assert told == sorted(told)
    assert told[-1] == engine.spilled > 20_000


@pytest.mark.parametrize("stride", [1, 4096, 1 << 22])
def test_each_level_divides_keys_evenly(stride):
    """Consecutive IDs, IDs of one tick and IDs of one node spread over all files."""
    start = 1_423_867_112_857_796_608
    counts = Counter(_hash(start + i * stride) & 0xFFF for i in range(1 << 16))
    assert len(counts) == 1 << 12  # 64 files, and 64 for each of them
    assert max(counts.values()) < 50  # 16 on average
