"""Packed slots: the same answers as the table's, also after being packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.claims.packed_slots import PackedSlots, packed, unpacked
from frazil.claims.record import Record
from frazil.claims.slots import Slot, SlotTable
from frazil.errors import ConfigError

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
PUTS = st.lists(st.tuples(NUMBERS, SLOT), max_size=12)
RANGES = st.tuples(NUMBERS, st.integers(1, 6)).map(lambda r: range(r[0], r[0] + r[1]))


def both(puts):
    """The slots put in a table, and put and packed again and again."""
    table, packed = SlotTable(), PackedSlots()
    for n, slot in puts:
        table.put(n, slot)
        packed.put(n, slot)
        packed = PackedSlots(packed.pack())
    return table, packed


@given(puts=PUTS)
def test_get_and_touched(puts):
    table, packed = both(puts)
    assert list(packed.stored()) == list(table.stored())
    assert all(packed.get(n) == table.get(n) for n in range(12))


@given(puts=PUTS, now=TICKS, guard=TICKS, among=RANGES)
def test_choices(puts, now, guard, among):
    table, packed = both(puts)
    assert packed.best_free(now, guard, among) == table.best_free(now, guard, among)
    assert packed.lowest_floor(now, guard, among) == table.lowest_floor(now, guard, among)


@given(puts=PUTS)
def test_void(puts):
    _, packed = both(puts)
    before = dict(packed.stored())
    packed.void_tokens()
    packed = PackedSlots(packed.pack())
    assert dict(packed.stored()) == {
        n: Slot(s.until, s.until if s.token else s.start) for n, s in before.items()
    }


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
