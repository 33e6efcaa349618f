"""Statistics of all workers, in shared memory, and as metrics of Prometheus.

A request for metrics or readiness reaches one of the workers. To answer for all of them, each
worker writes a report into its own slot of shared memory once a second, and the worker that answers
reads all slots. There are no locks: a slot has a checksum, and a reader that finds a partly written
slot reads it again. The slot of a dead worker keeps its last report until its successor writes one.

Metrics are computed when Prometheus requests them, so a request for an ID costs one addition. Each
worker has its own lines: a sum over all workers would fall when one of them restarts.
"""

import mmap
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from frazil.generator.status import Status
from frazil.metrics import COUNTERS, GAUGES, families
from frazil.service.alarms import Alarm, History
from frazil.service.tokens import Buckets
from frazil.system.clock import boot_ns

_SLOT = 1 << 20  # room for the history of some 500 namespaces
_HEAD = 8  # bytes: checksum and length of the data
_READS_MOST = 100


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The state of one worker. replies: by endpoint and status. unready: reasons by namespace.

    at_ns: when it was written, by the clock since boot.
    """

    worker: int = 0
    states: dict[str, Status] = field(default_factory=dict)
    replies: dict[tuple[str, int], int] = field(default_factory=dict)
    unready: dict[str, str] = field(default_factory=dict)
    process: int = 0
    at_ns: int = 0
    alarms: dict[str, list[Alarm]] = field(default_factory=dict)
    history: History = field(default_factory=History)


class WorkerStats:
    """The reports of ``workers`` processes, and the buckets of tokens with quotas.

    Created before the workers are forked.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.started_ns = boot_ns()
        self.buckets = Buckets()
        self._memory = mmap.mmap(-1, workers * _SLOT)

    def write(self, report: WorkerReport) -> None:
        """Write the report of a worker into its slot. A report that is too large is dropped."""
        data = pickle.dumps(report)
        if len(data) + _HEAD > _SLOT:
            return
        at = report.worker * _SLOT
        head = crc32(data).to_bytes(4, "big") + len(data).to_bytes(4, "big")
        self._memory[at : at + _HEAD + len(data)] = head + data

    def reports(self) -> list[WorkerReport]:
        """Return the last report of each worker that wrote one."""
        found = (self._read(worker * _SLOT) for worker in range(self.workers))
        return [report for report in found if report is not None]

    def _read(self, at: int) -> WorkerReport | None:
        for _ in range(_READS_MOST):
            head = self._memory[at : at + _HEAD]
            length = int.from_bytes(head[4:], "big")
            data = self._memory[at + _HEAD : at + _HEAD + length]
            if length and crc32(data) == int.from_bytes(head[:4], "big"):
                report: WorkerReport = pickle.loads(data)  # noqa: S301 - of a fork of this process
                return report
        return None


MEDIA_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


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
                field: getattr(status, field) for field in (*COUNTERS, *GAUGES)
            }
            for report in self.reports
            for name, status in report.states.items()
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
