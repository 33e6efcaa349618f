"""What all doors of a service share: its namespaces, who may ask, what was answered, how it stands.

A door that asked another one, or the application that holds both, would make a circle of them. So
what more than one of them needs is here, and knows of none.
"""

import asyncio
from collections import Counter

from frazil.errors import ConfigError
from frazil.service.metrics import Metrics
from frazil.service.namespace import Issuer
from frazil.service.settings import Settings
from frazil.service.tokens import Guard
from frazil.service.worker_stats import Board, Report

__all__ = ["State"]

_POST_EVERY_S = 1.0
_LOOK_EVERY_S = 1.0


class State:
    """The state of a service with some settings; raises ConfigError for them.

    issuers: by namespace. requests: counts of replies by door and status. going: whether the end
    has been announced. seat: the board of several workers, and which of them this is.
    """

    def __init__(self, settings: Settings, seat: tuple[Board, int] | None = None) -> None:
        settings.check()
        self.settings = settings
        self.going = False
        self._board: Board | None = None
        self._worker = 0
        if seat is not None:
            self._board, self._worker = seat
        self.guard = Guard(settings.tokens, None if seat is None else seat[0].buckets)
        self.issuers = {one.name: Issuer(one) for one in settings.namespaces}
        self.requests: Counter[tuple[str, int]] = Counter()
        schemes = {name: issuer.scheme.name for name, issuer in self.issuers.items()}
        self.metrics = Metrics(schemes, self.reports)

    def reports(self) -> list[Report]:
        """What each worker knows, this one as of now."""
        mine = self._report({})
        others = [] if self._board is None else self._board.reports()
        return sorted(
            [mine, *(one for one in others if one.worker != self._worker)],
            key=lambda report: report.worker,
        )

    async def begin(self) -> None:
        """Compare each layout with its record's; ConfigError says which differ, and how."""
        issuers = self.issuers.values()
        found = await asyncio.gather(*(one.begin() for one in issuers), return_exceptions=True)
        errors = [one for one in found if isinstance(one, BaseException)]
        for error in errors:
            if not isinstance(error, ConfigError):
                raise error
        if errors:
            raise ConfigError("\n".join(map(str, errors)))

    async def look_again(self) -> None:
        """See what the registries have that did not answer so far, until cancelled."""
        while True:
            await asyncio.gather(*(issuer.look_again() for issuer in self.issuers.values()))
            await asyncio.sleep(_LOOK_EVERY_S)

    async def unready(self) -> dict[str, str]:
        """Why namespaces may be without IDs in a moment, in any of the workers."""
        if self.going:
            return dict.fromkeys(self.issuers, "the service is being stopped")
        names = list(self.issuers)
        reasons = await asyncio.gather(*(self.issuers[name].unready() for name in names))
        found = {name: why for report in self.reports() for name, why in report.unready.items()}
        return found | {name: why for name, why in zip(names, reasons, strict=True) if why}

    def _report(self, unready: dict[str, str]) -> Report:
        """What this process knows."""
        gauges = {name: issuer.gauge() for name, issuer in self.issuers.items()}
        return Report(self._worker, gauges, dict(self.requests), unready)

    async def post(self) -> None:
        """Keep what this worker knows on the board, if there is one, until cancelled."""
        while self._board is not None:
            shorts = {name: issuer.short() for name, issuer in self.issuers.items()}
            self._board.post(self._report({name: why for name, why in shorts.items() if why}))
            await asyncio.sleep(_POST_EVERY_S)

    async def close(self) -> None:
        """Give every claim back, and tell the board."""
        await asyncio.gather(*(issuer.close() for issuer in self.issuers.values()))
        if self._board is not None:
            self._board.post(self._report({}))
