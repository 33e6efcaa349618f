"""The parts of an ID, its constants, and windows."""

import random

import pytest

import frazil
from frazil.errors import ConfigError
from frazil.schemes.segments import segments_of
from frazil.sql.parts import fixed_of, parts_of


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
            read = sum((n >> s.source & s.mask) << s.target for s in segments_of(positions))
            assert read == values["time" if part == "tick" else part]


def test_a_field_with_the_name_of_a_function_is_refused():
    with pytest.raises(ConfigError, match="'text'"):
        parts_of(frazil.scheme("time:40 node.text:5 node.b:5 sequence:12 @1ms since 2025-01-01"))
