"""Cells of the past: each once, the first free one of its tick, in the order of the rows."""

import random

import numpy as np
import pytest

from frazil.claims.claim import Claim, Terms
from frazil.errors import LayoutError, LayoutExhausted
from frazil.generator.past_cells import PastCells

TERMS = Terms("same", "", range(4), 4, 1 << 40, 1000, 0, 100)


def cells(start, stop, per_tick=3, terms=TERMS):
    return PastCells(Claim(1, start, stop, "", 0), terms, per_tick)


def many(cells, us):
    """The ticks and the sequences of rows, in their order."""
    us = np.array(us, np.int64)
    found = np.zeros((2, len(us)), np.int64)

    def take(place, *cells):
        found[0][place], found[1][place] = cells

    order = cells.many(us, take)
    if order is not None:
        found[:, order] = found.copy()
    return found


class Slow:
    """The rule in words: rows in the order of moments, each in the first free cell after the last.

    A single row does not look at the last one.
    """

    def __init__(self, per_tick):
        self.per_tick, self.used = per_tick, {}

    def next_from(self, tick):
        while self.used.get(tick, 0) >= self.per_tick:
            tick += 1
        return tick

    def many(self, moments):
        found, last = {}, 0
        for row in sorted(range(len(moments)), key=lambda row: moments[row]):
            last = self.next_from(max(last, moments[row] // 1000))
            found[row] = last, self.used.get(last, 0)
            self.used[last] = found[row][1] + 1
        return [found[row] for row in range(len(moments))]


@pytest.mark.parametrize("seed", range(150))
def test_they_are_those_of_the_rule(seed):
    dice = random.Random(seed)
    ours, slow = cells(0, 10**6, per_tick := dice.choice([1, 2, 5])), Slow(per_tick)
    for _ in range(dice.randint(1, 12)):
        low = dice.choice([0, 500, 900])
        rows = [
            dice.randint(low, low + dice.choice([2, 60])) * 500 for _ in range(dice.randint(0, 40))
        ]
        if dice.random() < 0.3:
            rows.sort()
        if dice.random() < 0.3:
            for us in rows:
                assert ours.one(us) == slow.many([us])[0]
        else:
            ticks, sequences = many(ours, rows)
            assert list(zip(ticks.tolist(), sequences.tolist(), strict=True)) == slow.many(rows)


def test_a_second_of_a_million_rows():
    million = cells(0, 10**7, 4096)
    for part in range(4):
        ticks, _ = many(million, [5_000_000] * 250_000)
        assert (np.diff(ticks) >= 0).all()
        assert ticks[-1] == 5000 + (250_000 * (part + 1) - 1) // 4096


@pytest.mark.parametrize("us", [4_999, 9_000, -1])
def test_a_moment_is_inside(us):
    message = "is outside of this history, which begins at 1970-01-01T00:00:00.005Z"
    with pytest.raises(LayoutError, match=message):
        cells(5, 9).one(us)
    with pytest.raises(LayoutError, match=f"element 1: .*{message}") as caught:
        many(cells(5, 9), [7_000, us, us])
    assert caught.value.index == 1
    assert caught.value.limit == (5_000, 9_000)


def test_the_end_is_an_error():
    few = cells(5, 7, 2)
    with pytest.raises(LayoutExhausted, match=r"claim another region with frazil\.history"):
        many(few, [5_000] * 5)
    few = cells(5, 7, 2)
    assert many(few, [5_000] * 4)[0].tolist() == [5, 5, 6, 6]
    with pytest.raises(LayoutExhausted):
        few.one(6_000)
    with pytest.raises(LayoutExhausted):
        many(few, [6_000])


def test_a_row_spills_by_an_hour_at_most():
    slow = Terms("same", "", range(4), 4, 1 << 40, 60_000_000, 0, 100)
    few = cells(0, 1000, 1, slow)
    many(few, [0] * 61)
    for call in (lambda: few.one(0), lambda: many(few, [0])):
        with pytest.raises(LayoutExhausted, match="at most an hour later"):
            call()
    assert few.one(60_000_000) == (61, 0)


def test_many_single_rows_are_kept_in_arrays(monkeypatch):
    monkeypatch.setattr("frazil.generator.past_cells._FEW", 10)
    few = cells(0, 1000, 2)
    found = {few.one(us) for us in [*range(0, 40_000, 1000)] * 2}
    assert len(found) == 80
    assert few.one(0) == (40, 0)


def test_without_numpy_single_rows_stay_in_a_dict(monkeypatch):
    monkeypatch.setattr("frazil.generator.past_cells._FEW", 3)
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    few = cells(0, 1000, 2)
    assert len({few.one(us) for us in [*range(0, 9_000, 1000)] * 2}) == 18


def test_a_tick_with_more_cells_than_a_word_counts():
    wide = cells(0, 1 << 40, 1 << 62)
    assert many(wide, [7000, 7001])[1].tolist() == [0, 1]


def test_long_runs_are_not_copied_again(monkeypatch):
    monkeypatch.setattr("frazil.generator.past_cells._BLOCK", 4)
    few = cells(0, 1000, 1)
    for first in range(0, 40, 4):
        many(few, [us * 1000 for us in range(first, first + 4)])
    assert len(few._kept[0]) == 10
    assert many(few, [0, 7_000])[0].tolist() == [40, 41]
