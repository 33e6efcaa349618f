"""Layouts for a need, known by name where that is enough; and what limits a fleet."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import ConfigError
from frazil.layout.layout import Layout
from frazil.reading.capacity import NODES_MOST, RATE_LEAST_HZ, RATE_MOST_HZ, Need, proposals
from frazil.reading.fleet_limits import COSTS_US, limits_of
from frazil.schemes.presets import PRESETS

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


ICICLE = Layout.parse(PRESETS["icicle"].layout)
WIDE = Layout.parse("time:41 region:3=0 node:17 sequence:2 @1ms since 2025-01-01")


def test_node_numbers_are_the_limit():
    limits = limits_of(ICICLE, "redis://a")
    assert (limits.processes, limits.bound_by, limits.servers) == (512, "node numbers", 1)
    assert limits.crashes_hz == 512 / 5
    assert limits.ids_hz == 512 * 4_096_000
    assert limits.regions == 1


def test_renewals_are_the_limit():
    one, three = limits_of(WIDE, "redis://a"), limits_of(WIDE, "redis://a,b,c")
    assert one.bound_by == three.bound_by == "renewals"
    assert three.processes == 3 * one.processes
    assert three.starts_hz == pytest.approx(3 * one.starts_hz)
    assert limits_of(WIDE, "redis://a?horizon=60s").processes > one.processes
    assert one.regions == 8


def test_a_server_is_busy_with_renewals_for_a_quarter_of_its_time():
    for kind, cost_us in COSTS_US.items():
        most = limits_of(WIDE, f"{kind}:?horizon=5s").processes
        assert most * 0.4 * cost_us <= 250_000, kind
        assert (most + 1) * 0.4 * cost_us > 250_000, kind


@pytest.mark.parametrize("url", ["etcd://a,b,c", "postgresql://a,b/db", "redis://a,b?cluster=1"])
def test_servers_with_the_same_data_count_once(url):
    assert limits_of(WIDE, url).servers == 1


def test_servers_of_icicle_hold_the_numbers():
    limits = limits_of(ICICLE, "icicle://a,b,c")
    assert limits.processes == limits.starts_hz == limits.crashes_hz == math.inf
    assert limits.ids_hz == 3 * 4_096_000
    assert limits.as_json()["processes"] is None


def test_what_has_no_costs_is_refused():
    with pytest.raises(ConfigError, match="no measured costs for 'memory'"):
        limits_of(ICICLE, "memory:")
    with pytest.raises(ConfigError, match="without time"):
        limits_of(Layout.parse(PRESETS["tickets"].layout), "redis:")
