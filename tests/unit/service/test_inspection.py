"""Neighbours and periods of an ID, compared with the layout."""

import pytest

import frazil
from frazil.schemes.scheme import PRESETS
from frazil.service.inspection import neighbours, stretches

NAMES = [name for name in PRESETS if not PRESETS[name].layout.endswith("since ?")]
WORDS = {"time": 1_000_000_000, "run": 77, "node": 3}


def some_id(scheme, sequence):
    given = {"sequence": sequence}
    layout = scheme.layout
    for role in ("time", "run", "node"):
        if layout.bits_of(role):
            given[role] = WORDS[role]
    return scheme.pack(**given)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("last", [False, True])
def test_neighbours_are_in_the_order_of_making(name, last):
    """One step is one sequence number; after its end the axis advances by one."""
    scheme = frazil.scheme(name)
    layout = scheme.layout
    sequence = layout.sequences - 1 if last and layout.axis != "sequence" else 5
    n = some_id(scheme, sequence)

    def place(number):
        values = scheme.unpack(number)
        runs = layout.sequences if layout.axis != "sequence" else 1
        return values[layout.axis] * runs + (values["sequence"] if runs > 1 else 0)

    found = neighbours(scheme, n)
    assert [one["step"] for one in found] == [-2, -1, 1, 2]
    for one in found:
        beside = scheme.parse(one["id"])
        assert place(beside) == place(n) + one["step"]
        if layout.bits_of("node"):
            assert scheme.unpack(beside)["node"] == WORDS["node"]


def test_there_is_nothing_before_the_first_and_after_the_last():
    scheme = frazil.scheme()
    assert [one["step"] for one in neighbours(scheme, 0)] == [1, 2]
    last = scheme.pack(time=(1 << 41) - 1, node=0, sequence=4095)
    assert [one["step"] for one in neighbours(scheme, last)] == [-2, -1]


@pytest.mark.parametrize("name", ["icicle", "sonyflake", "tsid", "js53", "discord"])
def test_stretches_hold_the_id_and_grow(name):
    scheme = frazil.scheme(name)
    n = some_id(scheme, 5)
    us = scheme.unpack(n).moment_us
    found = stretches(scheme, us)
    before = range(n, n + 1)
    for one in found:
        ids = range(scheme.parse(one["first"]), scheme.parse(one["last"]) + 1)
        assert n in ids
        assert ids[0] <= before[0]
        assert before[-1] <= ids[-1]
        assert 0 <= one["at"] < 1
        before = ids
    assert [one["length"] for one in found][-3:] == ["1min", "1h", "1d"]


def test_a_stretch_without_one_range_has_no_ids():
    scheme = frazil.scheme("globalid")
    us = scheme.unpack(some_id(scheme, 5)).moment_us
    assert {(one["first"], one["last"]) for one in stretches(scheme, us)} == {(None, None)}
