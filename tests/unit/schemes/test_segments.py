"""Segments give the value that its bits give one by one."""

import random

import pytest

from frazil.errors import LayoutError
from frazil.schemes.scheme import names, scheme
from frazil.schemes.segments import assembled, segments_of


def test_neighbours_are_one_segment_up_to_a_word() -> None:
    assert segments_of(range(12, 22)) == ((12, 0, 10),)
    assert segments_of(range(60, 70)) == ((60, 0, 4), (64, 4, 6))
    assert segments_of([3, 2, 7, 8]) == ((3, 0, 1), (2, 1, 1), (7, 2, 2))
    assert segments_of([7, 6, 5]) == ((7, 0, 1), (6, 1, 1), (5, 2, 1))
    assert [each.bits for each in segments_of(range(50), longest=32)] == [32, 18]
    assert segments_of(range(10))[0].mask == 1023


@pytest.mark.parametrize("name", names())
def test_every_field_of_every_scheme(name: str) -> None:
    of = scheme(name, epoch="2020-01-01" if name == "chibrary-time" else None)
    rng = random.Random(name)
    for role in ("time", "run", "node", "sequence"):
        if not of.layout.bits_of(role):
            with pytest.raises(LayoutError, match=f"has no {role}"):
                of.segments(role)
            continue
        for n in (rng.getrandbits(of.bits) for _ in range(20)):
            value = assembled(
                of.segments(role), lambda s, n=n: n >> s.source & s.mask, lambda v, by: v << by
            )
            assert value == of.unpack(n)[role]
