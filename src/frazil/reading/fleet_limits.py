"""Fleets: how many processes, starts and IDs a second a layout and a registry can support.

Three limits meet. The layout has so many node numbers, and a busy process holds one. A killed
process keeps its number until its claim has ended, one horizon at most. And every claim is a step
of the registry, which does one at a time: a busy process takes two in each horizon to renew, a
start and an end take one each.

A step takes as long as was measured (``COSTS_US``): the time from one step to the next, in the
slower of four clients and sixteen. Beside ten thousand claims it takes about as long as beside a
hundred. Each server is planned to be at most half busy: a quarter for renewals, a quarter for
starts. A plan that needs more has no reserve.
"""

from math import inf
from typing import Any, NamedTuple

from frazil.errors import ConfigError
from frazil.inputs.url import parse_url
from frazil.layout.layout import Layout

_RENEWALS = 2.0  # by a busy process in each horizon; 1.6 to 1.9 were measured
_SHARE = 0.25  # the part of a server's time for renewals, and the same for starts
_ROLLING = 2  # node numbers for each process, so that all can be replaced at once
_TECHNICAL = {"mode", "sign", "variant", "version", "zero"}
_SECOND_US = 1_000_000.0


COSTS_US = {
    "sqlite": 1_700,
    "redis": 125,
    "postgresql": 1_100,
    "mysql": 950,
    "etcd": 3_400,
    "zookeeper": 2_500,
}
"""µs of a step, measured by ``python -m evidence.benchmarks.claims``; docs/how-to/capacity.md shows
them."""

_ICICLE_CALL_HZ = 3_687  # single IDs a second, one client, one server: docs/how-to/icicle.md


class FleetLimits(NamedTuple):
    """A layout on a registry: ``servers`` that share nothing, with claims up to ``horizon_s``.

    processes: at once, that make IDs all the time; infinite if they hold no claims. bound_by: the
    limit that determines them. starts_hz: processes that start and end in a second, beside the
    others. mints_hz: calls of ``frazil.mint`` in a second, which hold nothing. crashes_hz: kills in
    a second until no node number is left, beside ``processes``. ids_hz: IDs a second of all
    processes (or servers) together; None without a limit. regions: deployments that constants of
    the layout keep apart, each with a registry of its own.
    """

    kind: str
    servers: int
    horizon_s: float
    regions: int
    ids_hz: float | None
    mints_hz: float
    processes: float = inf
    bound_by: str = "nothing here: the servers hold the node numbers"
    starts_hz: float = inf
    crashes_hz: float = inf

    def as_json(self) -> dict[str, Any]:
        """All values; null for what has no limit."""
        values = {
            "registry": self.kind,
            "servers": self.servers,
            "horizon_s": self.horizon_s,
            "processes": self.processes,
            "bound_by": self.bound_by,
            "starts_per_second": self.starts_hz,
            "mints_per_second": self.mints_hz,
            "crashes_per_second": self.crashes_hz,
            "ids_per_second": self.ids_hz,
            "regions": self.regions,
        }
        return {name: None if value == inf else value for name, value in values.items()}


def limits_of(layout: Layout, url: str) -> FleetLimits:
    """The limits of a layout on a registry, whose URL is read and not contacted.

    Raises ConfigError for a registry without measured costs, and for a layout without time.
    """
    where = parse_url(url if ":" in url else f"{url}:")
    kind = where.opened_by.family
    if kind not in COSTS_US and kind != "icicle":
        known = ", ".join([*COSTS_US, "icicle"])
        raise ConfigError(f"no measured costs for {where.kind!r}; there are those of {known}")
    if layout.tick_us is None:
        raise ConfigError(
            "a layout without time has no limit of this kind; see docs/start/stores/counters.md"
        )
    horizon_s = where.options().horizon_us() / 1e6
    apart = kind in {"redis", "icicle"} and dict(where.query).get("cluster") != "1"
    servers = len(where.hosts) if apart else 1
    constants = [f for f in layout.fields if f.fixed is not None and f.name not in _TECHNICAL]
    regions, each_hz = 1 << sum(f.bits for f in constants), layout.ids_per_second
    if kind == "icicle":  # whose servers hold the node numbers, and not the processes
        ids_hz = None if each_hz is None else each_hz * min(servers, layout.nodes)
        mints_hz = float(_ICICLE_CALL_HZ * servers)
        return FleetLimits(kind, servers, horizon_s, regions, ids_hz, mints_hz)
    by_nodes = max(1, layout.nodes // _ROLLING)
    each_server_hz = _SHARE * _SECOND_US / COSTS_US[kind]
    by_renewals = max(1, servers * int(each_server_hz * horizon_s / _RENEWALS))
    steps_hz = servers * each_server_hz
    processes = min(by_nodes, by_renewals)
    return FleetLimits(
        kind,
        servers,
        horizon_s,
        regions,
        ids_hz=None if each_hz is None else each_hz * processes,
        mints_hz=steps_hz,
        processes=processes,
        bound_by="node numbers" if by_nodes <= by_renewals else "renewals",
        starts_hz=steps_hz / 2,  # a start and an end take a step each
        crashes_hz=(layout.nodes - min(processes, layout.nodes)) / horizon_s,
    )
