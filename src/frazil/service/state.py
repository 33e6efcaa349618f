"""What the endpoints of a service share: namespaces, tokens, counters, readiness.

The endpoints import this module and never each other, so there are no import cycles.
"""

import asyncio
from collections import Counter

from frazil.claims.holder import Holder
from frazil.errors import ConfigError
from frazil.service.alarms import History, Watch
from frazil.service.namespace import ServedNamespace
from frazil.service.settings import Settings
from frazil.service.tokens import Guard
from frazil.service.worker_stats import WorkerReport, WorkerStats
from frazil.system.clock import boot_ns

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
        self.namespaces = {one.name: ServedNamespace(one) for one in settings.namespaces}
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
        new = [one for one in settings.namespaces if one.name not in self.namespaces]
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
            {name: served.gauge() for name, served in self.namespaces.items()},
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
