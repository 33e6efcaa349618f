"""Fleets: how many processes, starts and IDs a second a layout and a registry can support.

Three limits meet. The layout has so many node numbers, and a busy process holds one. A killed
process keeps its number until its claim has ended, one horizon at most. And every claim is a step
of the registry, which does one at a time: a busy process takes two in each horizon to renew, a
start and an end take one each.

A step takes as long as was measured (``COSTS``), on a busy machine with the slower of one client
and four. Each server is planned to be at most half busy: a quarter for renewals, a quarter for
starts. A plan that needs more has no reserve.
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, NamedTuple

from frazil.errors import ConfigError
from frazil.inputs.url import parse_url
from frazil.layout.layout import Layout

_RENEWALS = 2.0  # by a busy process in each horizon; 1.6 to 1.9 were measured
_SHARE = 0.25  # the part of a server's time for renewals, and the same for starts
_ROLLING = 2  # node numbers for each process, so that all can be replaced at once
_TECHNICAL = {"mode", "sign", "variant", "version", "zero"}
_SECOND_US = 1_000_000.0


class StepCost(NamedTuple):
    """µs of a step, and µs more for each claim that is held beside it."""

    base_us: float
    held_us: float = 0.0

    def at(self, held: float) -> float:
        """µs of a step beside so many claims."""
        return self.base_us + self.held_us * held

    def busy_most(self, steps_hz: float) -> int:
        """How many claims may be held if each takes so many steps a second."""
        budget = _SHARE * _SECOND_US / steps_hz  # = n * (base + held * n)
        if not self.held_us:
            return int(budget / self.base_us)
        half = self.base_us / self.held_us / 2
        return int(sqrt(half * half + budget / self.held_us) - half)


COSTS = {
    "sqlite": StepCost(4_000),
    "redis": StepCost(420, 0.15),
    "postgresql": StepCost(3_400, 4.0),
    "mysql": StepCost(4_500, 0.65),
    "etcd": StepCost(9_200, 9.0),
    "zookeeper": StepCost(2_000, 8.2),
}
"""Measured by ``python -m evidence.benchmarks.claims``; docs/how-to/capacity.md has the table."""

_ICICLE_CALL_HZ = 3_687  # single IDs a second, one client, one server: docs/how-to/icicle.md


@dataclass(frozen=True, slots=True)
class FleetLimits:
    """A layout on a registry: ``servers`` that share nothing, with claims up to ``horizon_s``."""

    layout: Layout
    kind: str
    servers: int
    horizon_s: float

    @property
    def claims(self) -> bool:
        """Whether processes hold claims; with ``icicle:`` the servers do."""
        return self.kind != "icicle"

    @property
    def processes(self) -> float:
        """Processes at once that make IDs all the time; infinite if they hold no claims."""
        return min(self.by_nodes, self.by_renewals) if self.claims else inf

    @property
    def by_nodes(self) -> int:
        """Processes for which there are node numbers, also while all are replaced."""
        return max(1, self.layout.nodes // _ROLLING)

    @property
    def by_renewals(self) -> int:
        """Processes whose renewals the servers can serve."""
        return max(1, self.servers * COSTS[self.kind].busy_most(_RENEWALS / self.horizon_s))

    @property
    def starts_hz(self) -> float:
        """Processes that start and end in a second, beside the others; each takes two steps."""
        return self._steps_hz / 2 if self.claims else inf

    @property
    def mints_hz(self) -> float:
        """Calls of ``frazil.mint`` in a second; each takes one step and holds nothing."""
        return self._steps_hz if self.claims else float(_ICICLE_CALL_HZ * self.servers)

    @property
    def crashes_hz(self) -> float:
        """Kills in a second until no node number is left, beside ``processes``."""
        if not self.claims:
            return inf
        return (self.layout.nodes - min(self.processes, self.layout.nodes)) / self.horizon_s

    @property
    def ids_hz(self) -> float | None:
        """IDs a second of all processes (or servers) together; None without a limit."""
        each_hz = self.layout.ids_per_second
        if each_hz is None:
            return None
        return each_hz * (self.processes if self.claims else min(self.servers, self.layout.nodes))

    @property
    def regions(self) -> int:
        """Deployments that constants of the layout keep apart, each with a registry of its own."""
        constants = [f for f in self.layout.fields if f.fixed is not None]
        return 1 << sum(f.bits for f in constants if f.name not in _TECHNICAL)

    @property
    def bound_by(self) -> str:
        """The limit that determines ``processes``."""
        if not self.claims:
            return "nothing here: the servers hold the node numbers"
        return "node numbers" if self.by_nodes <= self.by_renewals else "renewals"

    @property
    def _steps_hz(self) -> float:
        held = min(self.processes, self.layout.nodes) / self.servers
        return _SHARE * _SECOND_US / COSTS[self.kind].at(held) * self.servers

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
    if kind not in COSTS and kind != "icicle":
        known = ", ".join([*COSTS, "icicle"])
        raise ConfigError(f"no measured costs for {where.kind!r}; there are those of {known}")
    if layout.tick_us is None:
        raise ConfigError(
            "a layout without time has no limit of this kind; see docs/start/stores/counters.md"
        )
    options = where.options()
    horizon_us = options.horizon_us()
    together = kind in {"etcd", "zookeeper"} or dict(where.query).get("cluster") == "1"
    servers = 1 if together else max(1, len(where.hosts))
    return FleetLimits(layout, kind, servers, horizon_us / 1e6)
