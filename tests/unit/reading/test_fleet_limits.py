"""Fleets are limited by node numbers, by renewals, or by neither."""

import math

import pytest

from frazil.errors import ConfigError
from frazil.layout.layout import Layout
from frazil.reading.fleet_limits import COSTS_US, limits_of
from frazil.schemes.presets import PRESETS

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
