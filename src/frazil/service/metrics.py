"""Prometheus metrics, computed when Prometheus requests them.

Each namespace counts its own events, so a request costs one addition. Gauges such as lead and claim
are read from the generator at that moment. Each worker has its own lines: a sum over all workers
would fall when one of them restarts.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.metrics import COUNTERS, GAUGES, families
from frazil.service.namespace import ServedNamespace
from frazil.service.worker_stats import WorkerReport

__all__ = ["Metrics"]

_FIELDS = {
    "store_errors": "renew_failures",
    "seconds_left": "claim_left_s",
    "store_away_s": "trouble_s",
}
"""The fields of ``Gauge`` that a ``Status`` calls otherwise."""


class Metrics(Collector):
    """The metrics of a service. reports: returns all worker reports."""

    media_type = b"text/plain; version=0.0.4; charset=utf-8"

    def __init__(
        self,
        namespaces: Mapping[str, ServedNamespace],
        reports: Callable[[], Sequence[WorkerReport]],
    ) -> None:
        self._namespaces = namespaces
        self._reports = reports
        self._shown: Collection[str] = ()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self, shown: Collection[str]) -> bytes:
        """Return the metrics of some namespaces in Prometheus's text format."""
        self._shown = shown
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """See Collector."""
        reports = self._reports()
        labels = ("namespace", "scheme", "worker")
        shown = {
            (name, self._namespaces[name].scheme.name, str(report.worker)): {
                field: getattr(gauge, _FIELDS.get(field, field)) for field in (*COUNTERS, *GAUGES)
            }
            for report in reports
            for name, gauge in report.gauges.items()
            if name in self._shown and name in self._namespaces
        }
        yield from families(labels, shown, shown)
        by = ("door", "status", "worker")
        words = "Replies by endpoint and status."
        replies = CounterMetricFamily("frazil_http_replies", words, labels=by)
        for report in reports:
            for (door, status), count in sorted(report.replies.items()):
                replies.add_metric((door, str(status), str(report.worker)), count)
        yield replies
