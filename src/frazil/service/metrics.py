"""Metrics: how the namespaces stand, read when Prometheus asks and kept nowhere else.

The issuers count by themselves, so a request pays for no metric but one addition; what is not a
count (lead, claim, trouble) is asked of the generator at the moment of the reading.
"""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.service.issuer import Gauge, Issuer

__all__ = ["Metrics"]

_COUNTERS = {
    "issued": "IDs issued by this process.",
    "waits": "Calls that found no ID ready and had to wait.",
    "failures": "Calls that ended without an ID.",
}
_GAUGES = {
    "lead_s": ("lead_seconds", "How far timestamps run ahead of the registry's clock."),
    "claim_left_s": ("claim_left_seconds", "How far the claim held reaches; 0 when none is held."),
    "trouble_s": ("registry_trouble_seconds", "Since when the registry has not answered; 0 if so."),
    "exhausted_in_s": ("exhaustion_seconds", "Until the layout's time field is full."),
}


class Metrics(Collector):
    """The metrics of a service. ``requests`` counts replies by door and status."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(
        self, issuers: Mapping[str, Issuer], requests: Mapping[tuple[str, int], int]
    ) -> None:
        self._issuers = issuers
        self._requests = requests
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """All of them, in Prometheus's text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        stand = {
            (name, issuer.scheme.name): issuer.gauge() for name, issuer in self._issuers.items()
        }
        labels = ("namespace", "scheme")
        for field, words in _COUNTERS.items():
            counter = CounterMetricFamily(f"frazil_{field}", words, labels=labels)
            for key, gauge in stand.items():
                counter.add_metric(key, getattr(gauge, field))
            yield counter
        for field, (name, words) in _GAUGES.items():
            yield _gauge(field, name, words, stand)
        replies = CounterMetricFamily(
            "frazil_http_replies", "Replies by door and status.", labels=("door", "status")
        )
        for (door, status), count in sorted(self._requests.items()):
            replies.add_metric((door, str(status)), count)
        yield replies


def _gauge(
    field: str, name: str, words: str, stand: Mapping[tuple[str, str], Gauge]
) -> GaugeMetricFamily:
    """One gauge of every namespace where it is known."""
    family = GaugeMetricFamily(f"frazil_{name}", words, labels=("namespace", "scheme"))
    for key, gauge in stand.items():
        value = getattr(gauge, field)
        if value is not None:
            family.add_metric(key, value)
    return family
