"""The slots of a record: the table, the SQL and a slow reference choose alike."""

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from frazil.claims.slots import Slot, SlotTable
from frazil.registries.sqlite.slots import SqlSlots, lay_out

TICKS = st.integers(0, 12)
NUMBERS = st.integers(0, 9)
SLOT = st.builds(Slot, until=TICKS, start=st.just(0), token=st.sampled_from(["", "t"]))
RANGES = st.tuples(NUMBERS, st.integers(1, 6)).map(lambda r: range(r[0], r[0] + r[1]))


@contextmanager
def database(slots):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        lay_out(db, Path("memory"))
        other = SqlSlots(db, "other")
        rows = SqlSlots(db, "this")
        for n, slot in slots.items():
            rows.put(n, slot)
            other.put(n, Slot(99, 0, "x"))
        yield rows


def floor(slots, n, guard):
    return max(slots.get(n, Slot()).until, guard)


@given(slots=st.dictionaries(NUMBERS, SLOT), now=TICKS, guard=TICKS, among=RANGES)
def test_fit(slots, now, guard, among):
    ranked = [(-floor(slots, n, guard), n) for n in among if floor(slots, n, guard) <= now]
    expected = min(ranked)[1] if ranked else None
    assert SlotTable(slots).best_free(now, guard, among) == expected
    with database(slots) as rows:
        assert rows.best_free(now, guard, among) == expected


@given(slots=st.dictionaries(NUMBERS, SLOT), now=TICKS, guard=TICKS, among=RANGES)
def test_least(slots, now, guard, among):
    def rank(n):
        slot = slots.get(n, Slot())
        return floor(slots, n, guard), bool(slot.token) and slot.until > now, n

    expected = min(among, key=rank)
    assert SlotTable(slots).lowest_floor(now, guard, among) == expected
    with database(slots) as rows:
        assert rows.lowest_floor(now, guard, among) == expected


@given(slots=st.dictionaries(NUMBERS, SLOT))
def test_get_put_touched_void(slots):
    with database(slots) as rows:
        for kept in (SlotTable(slots), rows):
            assert list(kept.stored()) == sorted(slots.items())
            assert all(kept.get(n) == slots.get(n, Slot()) for n in range(12))
            kept.void_tokens()
            assert all(not slot.token for _, slot in kept.stored())
            untils = [slots[n].until for n in sorted(slots)]
            assert [slot.until for _, slot in kept.stored()] == untils
            starts = [slots[n].until if slots[n].token else slots[n].start for n in sorted(slots)]
            assert [slot.start for _, slot in kept.stored()] == starts
