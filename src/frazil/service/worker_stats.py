"""The board: what each worker of a service knows, for whichever of them is asked.

Workers share a socket, so a question about the service reaches one of them. Its own counters would
make Prometheus see a different service each time, and its own readiness would hide that another is
about to run out. So each worker writes what it knows into its own slot of memory that all share,
once a second, and whoever is asked reads all slots.

Nobody waits for anybody: a slot carries a checksum, and a reader who finds it half written looks
again. A slot whose worker has died keeps its last words until the next one writes there.
"""

import json
import mmap
from dataclasses import asdict, dataclass, field
from typing import Any
from zlib import crc32

from frazil.service.namespace import Gauge
from frazil.service.tokens import Token, buckets_of

__all__ = ["Board", "Report"]

_SLOT = 1 << 18
_HEAD = 8  # bytes: the checksum and the length of what follows
_LOOKS = 100


@dataclass(frozen=True, slots=True)
class Report:
    """What one worker knows. replies: by door and status. unready: why, by namespace."""

    worker: int = 0
    gauges: dict[str, Gauge] = field(default_factory=dict)
    replies: dict[tuple[str, int], int] = field(default_factory=dict)
    unready: dict[str, str] = field(default_factory=dict)


class Board:
    """Slots for the reports of ``workers`` processes, and the buckets of tokens with quotas.

    Made before they are forked.
    """

    def __init__(self, workers: int, tokens: tuple[Token, ...] = ()) -> None:
        self.workers = workers
        self.buckets = buckets_of(tokens)
        self._memory = mmap.mmap(-1, workers * _SLOT)

    def post(self, report: Report) -> None:
        """Write a worker's report into its slot; one that does not fit is left out."""
        told = asdict(report)
        told["replies"] = [[*key, count] for key, count in report.replies.items()]
        data = json.dumps(told).encode()
        if len(data) + _HEAD > _SLOT:
            return
        at = report.worker * _SLOT
        head = crc32(data).to_bytes(4, "big") + len(data).to_bytes(4, "big")
        self._memory[at : at + _HEAD + len(data)] = head + data

    def reports(self) -> list[Report]:
        """The last report of each worker that made one."""
        found = (self._read(worker * _SLOT) for worker in range(self.workers))
        return [_report(told) for told in found if told is not None]

    def _read(self, at: int) -> dict[str, Any] | None:
        for _ in range(_LOOKS):
            head = self._memory[at : at + _HEAD]
            length = int.from_bytes(head[4:], "big")
            data = self._memory[at + _HEAD : at + _HEAD + length]
            if length and crc32(data) == int.from_bytes(head[:4], "big"):
                told: dict[str, Any] = json.loads(data)
                return told
        return None


def _report(told: dict[str, Any]) -> Report:
    return Report(
        worker=told["worker"],
        gauges={name: Gauge(**values) for name, values in told["gauges"].items()},
        replies={(door, status): count for door, status, count in told["replies"]},
        unready=told["unready"],
    )
