"""Segments give the value that its bits give one by one."""

import random

import pytest

from frazil.errors import LayoutError
from frazil.schemes.scheme import names, scheme
from frazil.schemes.segments import assembled


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
