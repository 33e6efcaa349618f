"""Several independent stores as one registry: ``redis://a,b,c``. Any one of them may be away.

Replicas that take over from each other have to agree on what was given, and every way in which they
can fail to is a way to give it twice. Stores that share nothing need not agree: each has its own
share of the node numbers, by its place in the URL, and its own record. A member asks one of them,
and another when that one is away; a claim belongs to the store that gave it.

All members must name the stores in the same order, or the shares would overlap. So "the second of
three" is part of the terms that a store's record is made for, and others are refused there. To add
a store is therefore to begin a new namespace.

A store with a clock that the member cannot believe is as good as one that is away: it gives nothing
to that member, and the others are asked. ClockError is raised where no store is left; then the
clock that is wrong is probably the member's own.

A member's memory of a record is told to that record alone: each ``sid`` goes out with the number of
its store before it, and comes back so.

Limits: a member whose store is away keeps what it was given, cannot make it longer, and gets
another node number elsewhere. Layouts with fewer node numbers than stores cannot be shared out, and
counters have no node numbers at all.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from frazil.claims.claim import Claim, Holding, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.errors import ClockError, ConfigError, FrazilError, RegistryUnavailable
from frazil.registries.base import Registry
from frazil.registries.doctor import Finding, StoreReport

__all__ = ["PartitionedRegistry", "share_terms"]

_AWAY = (RegistryUnavailable, ClockError)
_Reply = TypeVar("_Reply", bound=Claim | Wait | Lost)


def share_terms(terms: Terms, number: int, count: int) -> Terms:
    """The terms for store ``number`` of ``count``: an equal share of the slots, in order."""
    slots = terms.slots
    if len(slots) < count or not terms.timed:
        raise ConfigError(
            f"{terms.layout!r} has {len(slots)} node numbers, which {count} independent stores "
            "cannot share; name one store",
            value=count,
            limit=len(slots),
        )
    share = slots[len(slots) * number // count : len(slots) * (number + 1) // count]
    which = f"store {number + 1} of {count}"
    return replace(
        terms,
        identity=f"{terms.identity} {which}",
        layout=f"{terms.layout} | {which}",
        slots=share,
    )


class PartitionedRegistry:
    """A registry over independent ones, ``parts``, whose terms came from ``share_terms``."""

    def __init__(self, url: str, terms: Terms, parts: Sequence[Registry]) -> None:
        self.url = url
        self.terms = terms
        self.read_ns: int | None = None  # of servers
        self.parts = tuple(parts)
        self._memory: dict[int, LastSeen] = {}
        self._at = random.randrange(len(parts))  # noqa: S311 - spreads members over the stores

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        """See Registry."""
        return self._somewhere(lambda part, told: part.grant(told, want), ask)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        """See Registry."""
        return self._somewhere(lambda part, told: part.mint(told, ticks), ask)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """See Registry. Lost too where the claim's store is away: another can be had elsewhere."""
        number = self._home(ask)
        try:
            return self._heard(number, self.parts[number].renew(self._told(number, ask), until))
        except _AWAY:
            return Lost(_outside(number, self._memory.get(number, LastSeen())))

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """See Registry. Lost too where the claim's store is away."""
        number = self._home(ask)
        try:
            reply = self.parts[number].release(self._told(number, ask), used)
        except _AWAY:
            return Lost(_outside(number, self._memory.get(number, LastSeen())))
        heard = self._heard(number, reply if isinstance(reply, Lost) else Lost(reply))
        return heard if isinstance(reply, Lost) else heard.seen

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """See Registry. Those stores that have a record already are left as they are."""
        seen: LastSeen | None = None
        failures: list[FrazilError] = []
        for number, part in enumerate(self.parts):
            try:
                seen = _outside(number, part.initialise(self._told(number, ask), start))
            except FrazilError as error:
                failures.append(error)
        away = [error for error in failures if isinstance(error, _AWAY)]
        if away or seen is None:
            raise (away or failures)[0]
        return seen

    def look(self) -> Snapshot | None:
        """See Registry. Stores that do not answer are named; RegistryUnavailable if none does."""
        looks: list[Snapshot] = []
        away: list[RegistryUnavailable] = []
        whole = self.terms.fingerprint
        for part in self.parts:
            try:
                found = part.look()
            except RegistryUnavailable as error:
                away.append(error)
                continue
            if found is not None:
                looks.append(found)
                ours = found.fingerprint == part.terms.fingerprint
                whole = whole if ours else found.fingerprint
        if len(away) == len(self.parts):
            raise away[0]
        if not looks:
            return None
        every = (holding for found in looks for holding in found.holdings)
        return Snapshot(
            looks[0].layout.partition(" | store ")[0],
            whole,
            max(found.now_us for found in looks),
            tuple(sorted(every, key=lambda holding: holding.slot)),
            tuple(str(error) for error in away),
        )

    def close(self) -> None:
        """See Registry."""
        for part in self.parts:
            part.close()

    def examine(self) -> StoreReport:
        """See Registry. Every fact with the store's number; of the events, those of all."""
        facts: list[Finding] = []
        events: dict[str, Finding] = {}
        servers: list[str] = []
        ahead_us: int | None = None
        for number, part in enumerate(self.parts, 1):
            try:
                found = part.examine()
            except RegistryUnavailable as error:
                facts.append(Finding(f"store {number}", "note", "away", str(error)))
                continue
            servers.append(found.server)
            facts += (fact._replace(about=f"{fact.about} ({number})") for fact in found.facts)
            events |= {event.about: event for event in found.events}
            if found.ahead_us is not None:
                ahead_us = max(found.ahead_us, ahead_us or 0, key=abs)
        if not servers:
            raise RegistryUnavailable("; ".join(fact.meaning for fact in facts), url=self.url)
        one = Finding(
            "one of the stores is away", "good", "survived", "members ask the others for claims"
        )
        return StoreReport(", ".join(servers), tuple(facts), (*events.values(), one), ahead_us)

    def holdings(self) -> list[Holding]:
        """See Registry."""
        found = self.look()
        return list(found.holdings) if found else []

    def _somewhere(
        self, verb: Callable[[Registry, VerbRequest], Claim | Wait], ask: VerbRequest
    ) -> Claim | Wait:
        """A claim from the store last asked, or else from any other; else the shortest wait."""
        count = len(self.parts)
        others = random.sample(range(count), count)
        waits: list[Wait] = []
        failures: list[FrazilError] = []
        for number in (self._at, *(n for n in others if n != self._at)):
            try:
                reply = self._heard(number, verb(self.parts[number], self._told(number, ask)))
            except _AWAY as error:
                failures.append(error)
                continue
            if isinstance(reply, Claim):
                self._at = number
                return reply
            waits.append(reply)
        if waits:
            return min(waits, key=lambda wait: wait.wait_us)
        # One that is away may be back in a moment, and a clock is wrong until somebody sets it.
        raise next(
            (each for each in failures if isinstance(each, RegistryUnavailable)), failures[0]
        )

    def _home(self, ask: VerbRequest) -> int:
        """The store that gave the claim held."""
        slot = ask.held.slot if ask.held is not None else -1
        for number, part in enumerate(self.parts):
            if slot in part.terms.slots:
                return number
        raise ConfigError("renew and release need the claim that they are about")

    def _told(self, number: int, ask: VerbRequest) -> VerbRequest:
        """The request, with what is remembered of this store's record and of no other."""
        place, _, sid = ask.seen.sid.partition("@")
        seen = self._memory.get(number, LastSeen())
        if place == str(number):
            given = replace(ask.seen, sid=sid)
            seen = max(seen, given, key=lambda each: (each.now_us, each.revision))
        return replace(ask, seen=seen)

    def _heard(self, number: int, reply: _Reply) -> _Reply:
        """The reply as the caller shall see it; what it says of the record is remembered."""
        self._memory[number] = reply.seen
        return replace(reply, seen=_outside(number, reply.seen))


def _outside(number: int, seen: LastSeen) -> LastSeen:
    """What is known of a store's record, as callers know it."""
    return replace(seen, sid=f"{number}@{seen.sid}") if seen.sid else seen
