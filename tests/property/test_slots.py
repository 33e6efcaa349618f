"""The slots of a record: the table, the SQL, the packed form and a slow reference choose alike."""

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.claims.packed_slots import PackedSlots, packed, unpacked
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ConfigError
from frazil.registries.sqlite.slots import SqlSlots, lay_out

TICKS = st.integers(0, 12)
NUMBERS = st.integers(0, 9)
TOKENS = st.sampled_from(["", "t", "0" * 16, "f" * 16, "0123456789abcdef", "ü\n,"])
SLOT = st.builds(
    lambda ticks, **rest: Slot(max(ticks), min(ticks), **rest),
    ticks=st.tuples(TICKS, TICKS),
    token=TOKENS,
    holder=st.sampled_from(["", "a:1", 'b"\n:2']),
    since_us=st.integers(0, 1 << 60),
)
SLOTS = st.dictionaries(NUMBERS, SLOT)
RANGES = st.tuples(NUMBERS, st.integers(1, 6)).map(lambda r: range(r[0], r[0] + r[1]))


@contextmanager
def each_way(slots):
    """The slots in a table, in a database beside those of another namespace, and packed."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        lay_out(db, Path("memory"))
        rows, other, packed = SqlSlots(db, "this"), SqlSlots(db, "other"), PackedSlots()
        for n, slot in slots.items():
            rows.put(n, slot)
            other.put(n, Slot(99, 0, "x"))
            packed.put(n, Slot(0, 0, "x"))
            packed = PackedSlots(packed.pack())
            packed.put(n, slot)
            packed = PackedSlots(packed.pack())
        yield SlotTable(slots), rows, packed


def floor(slots, n, guard):
    return max(slots.get(n, Slot()).until, guard)


@given(slots=SLOTS, now=TICKS, guard=TICKS, among=RANGES, late_from=TICKS)
def test_fit(slots, now, guard, among, late_from):
    def is_late(n):
        slot = slots.get(n, Slot())
        return slot.token and slot.until > max(guard, late_from)

    free = [n for n in among if floor(slots, n, guard) <= now]
    late = sorted(filter(is_late, free), key=lambda n: (slots[n].until, n))
    others = sorted(set(free) - set(late), key=lambda n: (-floor(slots, n, guard), n))
    expected = next(iter([*others, *late]), None)
    with each_way(slots) as ways:
        assert [kept.best_free(now, guard, among, late_from) for kept in ways] == [expected] * 3


@given(slots=SLOTS, now=TICKS, guard=TICKS, among=RANGES)
def test_least(slots, now, guard, among):
    def rank(n):
        slot = slots.get(n, Slot())
        return floor(slots, n, guard), bool(slot.token) and slot.until > now, n

    expected = min(among, key=rank)
    with each_way(slots) as ways:
        assert [kept.lowest_floor(now, guard, among) for kept in ways] == [expected] * 3


@given(slots=SLOTS)
def test_get_put_touched_void(slots):
    voided = {n: Slot(s.until, s.until if s.token else s.start) for n, s in slots.items()}
    with each_way(slots) as ways:
        for kept in ways:
            assert list(kept.stored()) == sorted(slots.items())
            assert all(kept.get(n) == slots.get(n, Slot()) for n in range(12))
            kept.void_tokens()
            assert all(not slot.token for _, slot in kept.stored())
            ends = [(n, slot.until, slot.start) for n, slot in kept.stored()]
            assert ends == [(n, slot.until, slot.start) for n, slot in sorted(voided.items())]
        assert list(PackedSlots(ways[2].pack()).stored()) == sorted(voided.items())


def test_many_are_deflated_and_the_same():
    packed = PackedSlots()
    for n in range(32_768):
        token = f"{n * 0x9E3779B97F4A7C15 % 2**64:016x}"
        packed.put(n, Slot(10**12 + n, 10**12, token, f"h:{n % 99}"))
    small = packed.pack()
    assert len(small) < 1_000_000
    assert list(PackedSlots(small).stored()) == list(packed.stored())


def test_names_of_the_gone_are_forgotten():
    packed = PackedSlots()
    for n in range(1000):
        packed.put(0, Slot(n, n, "t", f"holder:{n}"))
    assert len(packed.pack()) < 500
    assert packed.get(0).holder == "holder:999"


def test_a_record_as_one_value():
    record = Record(PackedSlots(), "sid", "incarnation", revision=3)
    record.slots.put(4, Slot(9, 2))
    found, noted = unpacked(packed(record, {"era": "x"}), dict, "rm")
    assert noted == {"era": "x"}
    assert (found.sid, found.revision, found.slots.get(4)) == ("sid", 3, Slot(9, 2))
    assert unpacked(packed(record), dict, "rm")[1] == unpacked(b"", dict, "rm")[1] == {}
    for wrong in (b"x", b"7", b'{"noted": 7}', b'{"strange": 7}'):
        with pytest.raises(ConfigError, match=r"another program.*\(rm\)"):
            unpacked(wrong, dict, "rm")
