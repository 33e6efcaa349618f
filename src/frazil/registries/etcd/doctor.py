"""Examine an etcd cluster for ``frazil doctor``."""

from typing import Any

from frazil.claims.claim import Terms
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    outage,
    rollback,
    state_loss,
)

_QUOTA_BYTES = 2 << 30  # etcd's default


def examine(
    status: dict[str, Any],
    members: dict[str, Any],
    alarms: dict[str, Any],
    terms: Terms,
    ahead_us: int | None,
) -> StoreReport:
    """The report from the answers to maintenance/status, cluster/member/list and .../alarm."""
    count = len(members.get("members", []))
    size_bytes = int(status.get("dbSize", 0))
    raised = [str(each.get("alarm")) for each in alarms.get("alarms", [])]
    version = f"etcd {status.get('version', '?')}"
    spare = (count - 1) // 2
    alone = "if it fails, no claims can be made; three members survive the failure of one"
    full = bool(raised) or size_bytes > _QUOTA_BYTES * 0.9
    facts = (
        Finding("version", "good", version),
        Finding(
            "members",
            "good" if spare else "note",
            f"{count}, of which {spare} may fail",
            "" if spare else alone,
        ),
        Finding(
            "space",
            "bad" if full else "good",
            f"{size_bytes / 1e6:.1f} MB" + (f", alarm {', '.join(raised)}" if raised else ""),
            "compact, defragment, then: etcdctl alarm disarm" if full else "",
        ),
        Finding("persistence", "good", "each claim is on a majority's disks before it is used"),
    )
    events = [
        *COMMON_EVENTS,
        Finding("members restart, or a minority is cut off", "good", "survived"),
        state_loss("the key is deleted or restored", terms),
        _restored(terms),
        Finding(
            "an old leader continues beside its successor", "good", "survived", "raft prevents it"
        ),
        outage(terms),
    ]
    if terms.timed:
        clocks = "etcd has no clock; clients' clocks are compared with each other and etcd's date"
        events.append(Finding("a client's clock is wrong", "good", "survived", clocks))
    server = f"{version}, {count} member{'s' * (count != 1)}"
    return StoreReport(server, facts, tuple(events), ahead_us)


def _restored(terms: Terms) -> Finding:
    """The first member notices a restore, unless the new log is already long."""
    event = "the cluster is restored from a snapshot"
    found = state_loss(event, terms)
    if terms.timed:
        return found
    return found._replace(
        meaning=f"{found.meaning}. But if no member connects for a long time, or the cluster was "
        f"young, it is {rollback(event, terms).found}: {rollback(event, terms).meaning}"
    )
