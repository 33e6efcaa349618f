"""The runs of a field, the constants, and windows."""

import random

import pytest

import frazil
from frazil.errors import ConfigError, LayoutError
from frazil.sql.parts import Run, fixed_of, parts_of, runs, window


def test_neighbours_are_one_run():
    assert runs((5, 6, 7)) == [Run(0, 3, 5)]
    assert runs((7, 6, 5)) == [Run(0, 1, 7), Run(1, 1, 6), Run(2, 1, 5)]
    assert runs((1, 2, 9, 10)) == [Run(0, 2, 1), Run(2, 2, 9)]


def test_a_run_stays_in_one_half_and_below_its_longest():
    assert runs((62, 63, 64, 65)) == [Run(0, 2, 62), Run(2, 2, 64)]
    assert [run.bits for run in runs(tuple(range(50)), longest=32)] == [32, 18]


@pytest.mark.parametrize("name", ["icicle", "discord", "uniqueid-spread", "globalid-128"])
@pytest.mark.parametrize("shuffle", [None, "seed:v1:9"])
def test_parts_and_constants_are_the_schemes(name, shuffle):
    scheme = frazil.scheme(name, shuffle=shuffle)
    chance = random.Random(name)
    free = [field for field in scheme.layout.fields if field.fixed is None]
    for _ in range(20):
        n = scheme.pack(**{field.name: chance.randrange(field.limit + 1) for field in free})
        mask, value = fixed_of(scheme, 128)
        assert n & mask == value
        values = scheme.unpack(n)
        for part, positions in parts_of(scheme).items():
            read = sum((n >> run.shift & run.mask) << run.low for run in runs(positions))
            assert read == values["time" if part == "tick" else part]


def test_a_field_with_the_name_of_a_function_is_refused():
    with pytest.raises(ConfigError, match="'text'"):
        parts_of(frazil.scheme("time:40 node.text:5 node.b:5 sequence:12 @1ms since 2025-01-01"))


def test_windows():
    scheme = frazil.scheme()
    base, shift = window(scheme)
    assert (base, shift) == (0, 22)
    for name in ("tickets", "globalid", "uniqueid-spread"):
        with pytest.raises(LayoutError):
            window(frazil.scheme(name))
