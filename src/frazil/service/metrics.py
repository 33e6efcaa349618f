"""Prometheus metrics, computed when Prometheus requests them.

Each namespace counts its own events, so a request costs one addition. Gauges such as lead and claim
are read from the generator at that moment. Each worker has its own lines: a sum over all workers
would fall when one of them restarts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.metrics import COUNTERS, GAUGES, families
from frazil.service.worker_stats import WorkerReport

MEDIA_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_FIELDS = {
    "store_errors": "renew_failures",
    "seconds_left": "claim_left_s",
    "store_away_s": "trouble_s",
}
"""The fields of ``Gauge`` that a ``Status`` calls otherwise."""


@dataclass(frozen=True)
class Metrics(Collector):
    """The metrics of a service. schemes: the names of those of the namespaces that are shown."""

    schemes: Mapping[str, str]
    reports: Sequence[WorkerReport]

    def text(self) -> bytes:
        """Return the metrics in Prometheus's text format."""
        return generate_latest(self)

    def collect(self) -> Iterator[Metric]:
        labels = ("namespace", "scheme", "worker")
        shown = {
            (name, self.schemes[name], str(report.worker)): {
                field: getattr(gauge, _FIELDS.get(field, field)) for field in (*COUNTERS, *GAUGES)
            }
            for report in self.reports
            for name, gauge in report.gauges.items()
            if name in self.schemes
        }
        yield from families(labels, shown, shown)
        by = ("door", "status", "worker")
        words = "Replies by endpoint and status."
        replies = CounterMetricFamily("frazil_http_replies", words, labels=by)
        for report in self.reports:
            for (door, status), count in sorted(report.replies.items()):
                replies.add_metric((door, str(status), str(report.worker)), count)
        yield replies
