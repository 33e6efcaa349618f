"""Layouts for a need: enough in every respect, known by name where that is enough."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import ConfigError
from frazil.reading.capacity import NODES_MOST, RATE_LEAST_HZ, RATE_MOST_HZ, Need, proposals

NOW_US = 1_780_000_000_000_000  # 2026-05-28
YEAR_US = 31_556_952_000_000


def of(nodes, node_hz, year):
    return proposals(Need(nodes, node_hz, year), NOW_US)


def names(*need):
    return [plan.name for plan in of(*need)]


def test_the_spare_bits_go_to_the_nodes_first():
    """200 nodes are 400 while their processes are replaced."""
    assert names(200, 5000, 2060) == [
        "icicle",
        "time:41 node:9 sequence:3 @1ms since 2026-01-01T00:00:00Z",
        "uuid7",
    ]


@given(
    st.integers(1, NODES_MOST),
    st.floats(math.log10(RATE_LEAST_HZ), 12).map(lambda power: 10**power),
    st.integers(2026, 9999),
)
def test_every_proposal_is_enough(nodes, node_hz, year):
    plans = of(nodes, node_hz, year)
    assert 1 <= len(plans) <= 3
    for plan in plans:
        assert plan.layout.nodes >= nodes
        assert plan.layout.ids_per_second >= node_hz
        assert plan.end_us >= (year + 1 - 1970 - 1) * YEAR_US  # leap days apart
    wide = [plan for plan in plans if plan.layout.bits > 64]
    for plan, most in zip([plan for plan in plans if plan not in wide], (64, 53), strict=False):
        assert plan.id_max < 1 << most - (most == 64)
    assert wide in ([], plans[-1:])
    assert (plans[-1].name == "uuid7") == (node_hz <= 1000 * 2**26)


@pytest.mark.parametrize(
    "need",
    [
        (0, 1, 2060),
        (NODES_MOST + 1, 1, 2060),
        (1, 0, 2060),
        (1, math.nan, 2060),
        (1, 2 * RATE_MOST_HZ, 2060),
        (1, 1, 2025),
        (1, 1, 10_000),
    ],
)
def test_a_need_outside_its_limits(need):
    with pytest.raises(ConfigError, match="choose another"):
        of(*need)
