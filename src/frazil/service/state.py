"""What the endpoints of a service share: namespaces, tokens, counters, readiness, the overview.

The endpoints import this module and never each other, so there are no import cycles.

The overview has all namespaces, red first, and what the workers know of each. What was read a while
ago has its time beside it, so no reader takes it for the present. The level of a namespace is that
of its worst alarm; it is *unknown* if a worker does not report.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from frazil import __version__
from frazil.claims.fleet import fleet_of
from frazil.claims.holder import Holder
from frazil.claims.holding import node_holdings
from frazil.errors import ConfigError, PoolExhausted, RegistryUnavailable
from frazil.generator.status import Status
from frazil.service.alarms import SHOWN, Alarm, History, Watch, total
from frazil.service.namespace import ServedNamespace
from frazil.service.settings import Settings
from frazil.service.tokens import Guard
from frazil.service.worker_stats import WorkerReport, WorkerStats
from frazil.system.clock import boot_ns, moment_text, to_us, wall_us

_EVERY_S = 1.0  # for what is looked at again


class State:
    """The state of a service. Raises ConfigError for unsafe settings.

    namespaces: by name. requests: counts of replies by endpoint and status. stopping: whether the
    shutdown has begun. worker: the shared statistics, and the index of this worker.
    """

    def __init__(self, settings: Settings, worker: tuple[WorkerStats, int] | None = None) -> None:
        settings.check()
        self.settings = settings
        self.stopping = False
        self._stats, self._index = worker or (WorkerStats(1), 0)
        self.started_ns = self._stats.started_ns
        self.guard = Guard(
            settings.tokens, self._stats.buckets, without_tokens=settings.without_tokens
        )
        self.namespaces = {one.namespace: ServedNamespace(one) for one in settings.namespaces}
        history = History()
        for before in self._stats.reports():
            if before.worker == self._index:
                history = before.history
                for served in self.namespaces.values():
                    served.new = False
        self._watch = Watch(self.namespaces, self.started_ns, history)
        self.requests: Counter[tuple[str, int]] = Counter()

    def reload(self, settings: Settings) -> list[ServedNamespace]:
        """Use other tokens, and return the new namespaces. Raises ConfigError for unsafe settings.

        A namespace that has changed or gone stays as it was until the next start.
        """
        settings.check()
        new = [one for one in settings.namespaces if one.namespace not in self.namespaces]
        made = [ServedNamespace(one) for one in new]
        self.namespaces |= {served.name: served for served in made}
        self.guard.replace(settings.tokens, without_tokens=settings.without_tokens)
        return made

    def reports(self) -> list[WorkerReport]:
        """Return the report of each worker; that of this worker is current."""
        others = (one for one in self._stats.reports() if one.worker != self._index)
        return sorted([self._report({}), *others], key=lambda report: report.worker)

    async def check_layouts(self) -> None:
        """Compare each layout with its record. Raises ConfigError, which lists the differences."""
        checks = [served.check_layout() for served in self.namespaces.values()]
        found = [problem for problem in await asyncio.gather(*checks) if problem]
        if found:
            raise ConfigError("\n".join(found))

    async def recheck(self) -> None:
        """Read again the registries that did not answer so far, until cancelled."""
        while True:
            await asyncio.gather(*(served.recheck() for served in list(self.namespaces.values())))
            await asyncio.sleep(_EVERY_S)

    async def unready(self) -> dict[str, str]:
        """Return why namespaces may run out of IDs in a moment, in any worker."""
        if self.stopping:
            return dict.fromkeys(self.namespaces, "the service is stopping")
        names = list(self.namespaces)
        reasons = await asyncio.gather(*(self.namespaces[name].unready() for name in names))
        found = {name: why for report in self.reports() for name, why in report.unready.items()}
        return found | {name: why for name, why in zip(names, reasons, strict=True) if why}

    def _report(self, unready: dict[str, str]) -> WorkerReport:
        return WorkerReport(
            self._index,
            {name: served.status() for name, served in self.namespaces.items()},
            dict(self.requests),
            unready,
            int(Holder.here().process),
            boot_ns(),
            self._watch.alarms,
            self._watch.history,
        )

    async def publish(self) -> None:
        """Look at the namespaces each second, and write a report for other workers."""
        while True:
            self.look()
            self._stats.write(self._report(self._watch.unready))
            await asyncio.sleep(_EVERY_S)

    def look(self) -> None:
        """Look at the namespaces now: at their alarms, and at the errors of HTTP."""
        errors = sum(n for (_, status), n in self.requests.items() if status >= 400)
        self._watch.look(errors)

    async def close(self) -> None:
        """Give back all claims, and publish the final report."""
        await asyncio.gather(*(served.close() for served in self.namespaces.values()))
        self._stats.write(self._report({}))


LEVELS = ("red", "unknown", "amber", "green")  # the worst first
_FRESH_NS = 5_000_000_000  # of a record
_SILENT_NS = 5_000_000_000  # of a worker
_READ_S = 0.5
_FULL_SHARE = 0.8
_SERVICE_PAGE = PoolExhausted.page.partition("alarms/")[0] + "service.md#health-metrics-and-logs"


async def overview(state: State, names: Collection[str]) -> dict[str, Any]:
    """Return all that is known of these namespaces, and of the service."""
    state.look()
    mine = [state.namespaces[name] for name in names]
    stale = [one for one in mine if not _fresh(one)]
    if stale:  # a registry that does not answer does not delay the others
        await asyncio.wait([asyncio.create_task(one.unready()) for one in stale], timeout=_READ_S)
    state.look()
    reports = {report.worker: report for report in state.reports()}
    replies: Counter[tuple[str, int]] = Counter()
    for report in reports.values():
        replies.update(report.replies)
    age_s = (boot_ns() - state.started_ns) / 1e9
    history = total([report.history for report in reports.values()], age_s)
    found = [_namespace(one, reports, state.settings.workers, history.rows) for one in mine]
    found.sort(key=lambda one: (LEVELS.index(one["level"]), one["namespace"]))
    return {
        "as_of": moment_text(wall_us()),
        "version": __version__,
        "host": Holder.here().host,
        "started": _ago(state.started_ns),
        "part_s": history.part_s,
        "http_errors": history.rows.get("http errors", []),
        "overview": found,
        "replies": [
            {"door": door, "status": status, "count": n}
            for (door, status), n in sorted(replies.items())
        ],
        "tokens": state.guard.listed(names),
    }


def _fresh(served: ServedNamespace) -> bool:
    last = served.record.last
    return last is not None and boot_ns() - last.at_ns < _FRESH_NS


def _ago(at_ns: int) -> str:
    """A moment by the clock since boot, as time of day by this host's clock now."""
    return moment_text(wall_us() - (boot_ns() - at_ns) // 1_000)


def _namespace(
    served: ServedNamespace,
    reports: dict[int, WorkerReport],
    workers: int,
    rows: dict[str, list[int]],
) -> dict[str, Any]:
    name = served.name
    silent = [n for n in range(workers) if n not in reports or _silent(reports[n])]
    alarms = _Alarms()
    for worker, report in reports.items():
        for one in () if worker in silent else report.alarms.get(name, ()):
            alarms.add(one, worker)
    if silent:
        words = "worker {} does not report" if len(silent) == 1 else "workers {} do not report"
        since_ns = min((reports[n].at_ns for n in silent if n in reports), default=None)
        why = words.format(", ".join(map(str, silent)))
        alarms.add(Alarm("unknown", why, _SERVICE_PAGE, since_ns), *silent)
    claims = _claims(served, alarms)
    ranked = alarms.ranked()
    return {
        **served.names,
        "level": ranked[0]["level"] if ranked else "green",
        "alarms": ranked,
        "workers": [_worker(name, one, silent) for one in reports.values() if name in one.states],
        "claims": claims,
        **{f"{what}_parts": rows.get(f"{what} {name}", []) for what in SHOWN},
    }


class _Alarms:
    """Alarms of several workers; those with one page become one."""

    def __init__(self) -> None:
        self._by_page: dict[str, tuple[Alarm, tuple[int, ...]]] = {}

    def add(self, new: Alarm, *workers: int) -> None:
        """Keep the worst words, and the earliest time."""
        old, before = self._by_page.get(new.page, (new, ()))
        worse = min(old, new, key=lambda one: LEVELS.index(one.level))
        since_ns = min(filter(None, (old.since_ns, new.since_ns)), default=None)
        self._by_page[new.page] = replace(worse, since_ns=since_ns), (*before, *workers)

    def ranked(self) -> list[dict[str, Any]]:
        """The alarms as JSON, the worst first."""
        found = sorted(self._by_page.values(), key=lambda one: LEVELS.index(one[0].level))
        return [
            {
                "level": alarm.level,
                "why": alarm.why,
                "page": alarm.page,
                "since": None if alarm.since_ns is None else _ago(alarm.since_ns),
                "of_workers": workers,
            }
            for alarm, workers in found
        ]


def _silent(report: WorkerReport) -> bool:
    return boot_ns() - report.at_ns > _SILENT_NS


def figures_of(status: Status) -> dict[str, Any]:
    """The figures of a namespace by their names in JSON."""
    return {
        "issued": status.issued,
        "waits": status.waits,
        "failures": status.failures,
        "lead_s": status.lead_s,
        "claim_left_s": status.seconds_left,
        "trouble_s": status.store_away_s,
        "exhausted_in_s": status.exhausted_in_s,
    }


def _worker(name: str, report: WorkerReport, silent: Collection[int]) -> dict[str, Any]:
    status = report.states[name]
    error_at = status.last_error_at
    return {
        "worker": report.worker,
        "process": report.process,
        "reported": _ago(report.at_ns),
        "silent": report.worker in silent,
        **figures_of(status),
        "renew_failures": status.store_errors,
        "clock_offset_s": status.clock_offset_s,
        "last_error": status.last_error,
        "last_error_at": None if error_at is None else moment_text(to_us(error_at)),
    }


def _claims(served: ServedNamespace, alarms: _Alarms) -> dict[str, Any] | None:
    """Return what the last read of the record found, and add its alarms."""
    last = served.record.last
    if last is None:
        return None
    slots = node_holdings(last.snapshot)
    fleet = fleet_of(slots, slots[0].layout if slots else served.scheme.layout)
    if fleet.members >= _FULL_SHARE * fleet.nodes > _FULL_SHARE:
        level = "red" if fleet.members == fleet.nodes else "amber"
        why = f"{fleet.members:,} of {fleet.nodes:,} node numbers are held"
        alarms.add(Alarm(level, why, PoolExhausted.page))
    if last.snapshot is not None and last.snapshot.away:
        why = f"{len(last.snapshot.away)} parts of the registry do not answer"
        alarms.add(Alarm("amber", why, RegistryUnavailable.page))
    return {"read": _ago(last.at_ns), "fresh": _fresh(served), **fleet._asdict()}
