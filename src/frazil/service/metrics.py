"""Prometheus metrics, computed when Prometheus requests them.

Each namespace counts its own events, so a request costs one addition. Gauges such as lead and claim
are read from the generator at that moment. Each worker has its own lines: a sum over all workers
would fall when one of them restarts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.service.worker_stats import WorkerReport

__all__ = ["Metrics"]

_COUNTERS = {
    "issued": "IDs issued by this process.",
    "waits": "Calls that found no ID ready and had to wait.",
    "failures": "Calls that ended without an ID.",
    "renew_failures": "Claim requests that the registry did not answer.",
}
_GAUGES = {
    "lead_s": ("lead_seconds", "How far timestamps run ahead of the registry's clock."),
    "claim_left_s": ("claim_left_seconds", "Time left in the claim; 0 when no claim is held."),
    "trouble_s": ("registry_trouble_seconds", "How long the registry has been unavailable, or 0."),
    "clock_offset_s": (
        "clock_offset_seconds",
        "How far this host's clock is ahead of the registry's, to half a tick.",
    ),
    "exhausted_in_s": ("exhaustion_seconds", "Time until the layout's time field is full."),
}


class Metrics(Collector):
    """The metrics of a service. schemes: by namespace. reports: returns all worker reports."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"

    def __init__(
        self, schemes: Mapping[str, str], reports: Callable[[], Sequence[WorkerReport]]
    ) -> None:
        self._schemes = schemes
        self._reports = reports
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        reports = self._reports()
        labels = ("namespace", "scheme", "worker")
        stand = [
            ((name, self._schemes[name], str(report.worker)), gauge)
            for report in reports
            for name, gauge in report.gauges.items()
        ]
        for field, words in _COUNTERS.items():
            counter = CounterMetricFamily(f"frazil_{field}", words, labels=labels)
            for key, gauge in stand:
                counter.add_metric(key, getattr(gauge, field))
            yield counter
        for field, (name, words) in _GAUGES.items():
            family = GaugeMetricFamily(f"frazil_{name}", words, labels=labels)
            for key, gauge in stand:
                value = getattr(gauge, field)
                if value is not None:
                    family.add_metric(key, value)
            yield family
        replies = CounterMetricFamily(
            "frazil_http_replies",
            "Replies by endpoint and status.",
            labels=("door", "status", "worker"),
        )
        for report in reports:
            for (door, status), count in sorted(report.replies.items()):
                replies.add_metric((door, str(status), str(report.worker)), count)
        yield replies
