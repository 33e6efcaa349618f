"""Metrics of the generators of this process, for Prometheus and OpenTelemetry.

    frazil.metrics.prometheus()      # into the registry of prometheus_client
    frazil.metrics.opentelemetry()   # into the meter provider of the program

Both are read when they are collected, so a call pays nothing for them. Generators of one namespace,
scheme and store are one series. A count does not fall when a generator is freed: it includes all
that this process had.

The names for Prometheus are those of the service (``frazil serve``), so one dashboard and one set
of alerts serve both.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.errors import ConfigError
from frazil.generator.status import Counts, Status, counts_of, freed_counts, open_generators
from frazil.system.extras import needs
from frazil.system.process import at_fork

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

__all__ = ["COUNTERS", "GAUGES", "Metric", "families", "opentelemetry", "prometheus"]


class Metric(NamedTuple):
    """name: for Prometheus. dotted, unit: for OpenTelemetry. words: its description."""

    name: str
    dotted: str
    unit: str
    words: str


COUNTERS = {
    "issued": Metric("issued", "frazil.ids", "{id}", "IDs issued by this process."),
    "waits": Metric("waits", "frazil.waits", "{wait}", "Calls that had to wait for the store."),
    "failures": Metric("failures", "frazil.failures", "{call}", "Calls that ended without an ID."),
    "store_errors": Metric(
        "renew_failures", "frazil.store.errors", "{error}", "Requests the store did not answer."
    ),
}
GAUGES = {
    "lead_s": Metric(
        "lead_seconds", "frazil.lead", "s", "How far timestamps run ahead of the store's clock."
    ),
    "seconds_left": Metric(
        "claim_left_seconds", "frazil.claim.left", "s", "Time left in the claim; 0 without one."
    ),
    "store_away_s": Metric(
        "registry_trouble_seconds", "frazil.store.away", "s", "How long the store is away, or 0."
    ),
    "clock_offset_s": Metric(
        "clock_offset_seconds",
        "frazil.clock.offset",
        "s",
        "How far this host's clock is ahead of the store's, to half a tick.",
    ),
    "exhausted_in_s": Metric(
        "exhaustion_seconds", "frazil.exhaustion", "s", "Time until the time field is full."
    ),
}
_LEAST = {"seconds_left", "exhausted_in_s"}  # of several generators; of other gauges the greatest

_Values = dict[tuple[str, str, str], dict[str, float]]
_Series = Mapping[tuple[str, str, str], Mapping[str, float | None]]


class _Totals:
    """What one collector reads."""

    def __init__(self) -> None:
        self._shown: Counts = Counter()
        at_fork(after_in_child=self._shown.clear)

    def collect(self) -> tuple[_Values, _Values]:
        """The counts and the gauges of each series. A count is never less than the last time."""
        counts: Counts = Counter()
        gauges: _Values = {}
        generators = _generators()  # kept, or one that is freed meanwhile would count twice
        for generator in generators:
            status: Status = generator.status()
            counts.update(counts_of(status))
            if not status.closed:
                key = status.namespace, status.scheme, status.store
                _join(gauges.setdefault(key, {}), status)
        counts.update(freed_counts())
        sums: _Values = {}
        for each, count in counts.items():
            namespace, scheme, store, name = each
            self._shown[each] = max(count, self._shown[each])
            sums.setdefault((namespace, scheme, store), {})[name] = self._shown[each]
        return sums, gauges


def _generators() -> list[Any]:
    """The generators that are not freed; another thread may open one at this moment."""
    while True:
        try:
            return list(open_generators)
        except RuntimeError:  # the set changed meanwhile
            continue


def _join(to: dict[str, float], status: Status) -> None:
    for name in GAUGES:
        value = getattr(status, name)
        if value is not None:
            known = to.get(name, value)
            to[name] = min(known, value) if name in _LEAST else max(known, value, key=abs)


def families(labels: tuple[str, ...], counts: _Series, gauges: _Series) -> Iterator[Any]:
    """The families of Prometheus: the values of each field by the values of the labels."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    tables = ((COUNTERS, CounterMetricFamily, counts), (GAUGES, GaugeMetricFamily, gauges))
    for table, family_of, series in tables:
        for field_name, metric in table.items():
            family = family_of(f"frazil_{metric.name}", metric.words, labels=labels)
            for key, found in series.items():
                value = found.get(field_name)
                if value is not None:
                    family.add_metric(key, value)
            yield family


def _check(name: str, value: object, method: str, words: str) -> None:
    """Raise ConfigError for an argument without the method that is used."""
    if value is not None and not hasattr(value, method):
        raise ConfigError(f"{name} must be {words}, not {type(value).__name__}", argument=name)


def prometheus(registry: "CollectorRegistry | None" = None) -> None:
    """Register a collector; the default is prometheus_client's own registry."""
    with needs("metrics need prometheus-client", "serve"):
        from prometheus_client import REGISTRY
        from prometheus_client.registry import Collector
    _check("registry=", registry, "register", "a CollectorRegistry")
    totals = _Totals()

    class Generators(Collector):
        """The generators of this process."""

        def collect(self) -> Iterator[Any]:
            return families(("namespace", "scheme", "store"), *totals.collect())

    (REGISTRY if registry is None else registry).register(Generators())


def opentelemetry(meter_provider: Any = None) -> None:
    """Create observable instruments; the default is the program's meter provider.

    Raises ConfigError if the API of OpenTelemetry is not installed.
    """
    try:
        from opentelemetry.metrics import Observation, get_meter
    except ImportError as error:
        raise ConfigError(
            f"opentelemetry() needs opentelemetry-api ({error}); pip install opentelemetry-api"
        ) from None
    _check("meter_provider=", meter_provider, "get_meter", "a MeterProvider")
    meter = get_meter("frazil", meter_provider=meter_provider)
    totals = _Totals()

    def observing(field_name: str, at: int) -> Any:
        def observe(_options: object) -> Iterator[Any]:
            for (namespace, scheme, store), found in totals.collect()[at].items():
                if field_name in found:
                    about = {"frazil.namespace": namespace, "frazil.scheme": scheme}
                    yield Observation(found[field_name], {**about, "frazil.store": store})

        return observe

    kinds = ((COUNTERS, meter.create_observable_counter), (GAUGES, meter.create_observable_gauge))
    for at, (table, create) in enumerate(kinds):
        for field_name, metric in table.items():
            create(metric.dotted, [observing(field_name, at)], metric.unit, metric.words)
