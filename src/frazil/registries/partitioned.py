"""Several independent stores as one registry: ``redis://a,b,c``. Any of them may be unavailable.

Replicas must agree on what was granted; whenever they do not, a region may be granted twice.
Independent stores need not agree: each has its own share of the node numbers, by its position in
the URL, and its own record. A member uses one store, and another when that one is unavailable. A
claim belongs to the store that granted it.

All members must name the stores in the same order, or the shares would overlap. So the terms of a
store's record contain its position ("store 2 of 3"), and members with other terms are refused.
Adding a store therefore requires a new namespace.

A store whose clock disagrees with the member's counts as unavailable for that member. ClockError is
raised if no store is left; then the member's own clock is probably wrong.

What a member remembers of a store is sent to that store only, so this object remembers it. Callers
see each ``sid`` with the number of its store before it. A member that moved to another store still
reports to the one it left, with its renewals.

Limits: a member whose store is unavailable keeps its claim, cannot extend it, and gets another node
number from another store. Layouts with fewer node numbers than stores cannot be shared, nor can
counters, which have no node numbers.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from frazil.claims.claim import Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.errors import ClockError, ConfigError, FrazilError, RegistryUnavailable
from frazil.registries.base import PastRegistry, Registry, with_past
from frazil.registries.doctor import Finding, StoreReport
from frazil.registries.remembered import remembered
from frazil.system.chance import shuffled
from frazil.system.clock import boot_ns

_AWAY = (RegistryUnavailable, ClockError)
_Reply = TypeVar(
    "_Reply",
    LastSeen,
    Claim | Wait,
    Claim | Lost,
    LastSeen | Lost,
    Claim | Wait | Lost,
    LastSeen | Wait,
)


def share_terms(terms: Terms, number: int, count: int) -> Terms:
    """The terms for store ``number`` of ``count``: an equal share of the slots, in order."""
    slots = terms.slots
    if len(slots) < count or not terms.timed:
        raise ConfigError(
            f"{terms.layout!r} has {len(slots)} node numbers, which {count} independent stores "
            "cannot share; use one store",
            value=count,
            limit=len(slots),
        )
    share = slots[len(slots) * number // count : len(slots) * (number + 1) // count]
    which = f"store {number + 1} of {count}"
    return terms._replace(
        identity=f"{terms.identity} {which}", layout=f"{terms.layout} | {which}", slots=share
    )


class PartitionedRegistry(PastRegistry):
    """A registry over independent ones, ``parts``, whose terms came from ``share_terms``."""

    def __init__(self, url: str, terms: Terms, parts: Sequence[Registry]) -> None:
        self.url = url
        self.terms = terms._replace(namespace=parts[0].terms.namespace)
        self.read_ns: int | None = None  # unknown
        self.parts = tuple(parts)
        self._memory = [LastSeen()] * len(self.parts)
        self._at = shuffled(range(len(parts)))[0]
        # The last claim of a store that was left, until when it is reported and when next
        self._left: dict[int, tuple[Claim, int, int]] = {}

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self._at_any_store(lambda part, told: part.grant(told, want), ask)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self._at_any_store(lambda part, told: part.mint(told, ticks), ask)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """See Registry. Lost too if the claim's store is unavailable: others can grant one."""
        reply = self._at_own_store(lambda part, told: part.renew(told, until), ask)
        self.read_ns = boot_ns()  # at the latest; what follows takes time
        self._report(ask)
        return reply

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """See Registry. Lost too if the claim's store is unavailable."""
        return self._at_own_store(lambda part, told: part.release(told, used), ask)

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """See Registry. Stores that already have a record are not changed.

        The namespace is new only if all stores answer and none has a record: members may hold
        claims of one that was emptied, and need a guard there.
        """
        if start is not None and any(part.look() is not None for part in self.parts):
            raise ConfigError(
                f"a store of {self.url} already has a record of {self.terms.named}, so it is not "
                "new, and a store without one may have lost it; leave out --new (in Python new=): "
                "then those stores are set up, and wait one horizon"
            )
        seen: LastSeen | None = None
        failures: list[FrazilError] = []
        for number, part in enumerate(self.parts):
            try:
                told = self._told(number, ask)
                seen = self._heard(number, told, part.initialise(told, start))
            except FrazilError as error:
                failures.append(error)
        away = [error for error in failures if isinstance(error, _AWAY)]
        if away or seen is None:
            raise (away or failures)[0]
        return seen

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        """See PastRegistry: the ticks of one store, the first one that has them."""
        replies: list[Wait | Lost] = []
        failures: list[FrazilError] = []
        for number, part in enumerate(self.parts):
            told = self._told(number, ask)
            try:
                reply = self._heard(number, told, with_past(part).claim_past(told, region))
            except FrazilError as error:
                failures.append(error)
                continue
            if isinstance(reply, Claim):
                return reply
            replies.append(reply)
        if failures:  # such a store may have the ticks, later or after a declaration
            raise failures[0]
        return min(replies, key=lambda reply: isinstance(reply, Lost))

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        """See PastRegistry: on all stores."""
        replies: list[LastSeen | Wait] = []
        for number, part in enumerate(self.parts):
            told = self._told(number, ask)
            replies += [self._heard(number, told, with_past(part).declare_past(told, start))]
        return min(replies, key=lambda reply: isinstance(reply, LastSeen))

    def look(self) -> Snapshot | None:
        """See Registry. Names stores that do not answer; RegistryUnavailable if none does."""
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
            max((found.past_from for found in looks if found.past_from is not None), default=None),
        )

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def examine(self) -> StoreReport:
        """See Registry. Each fact with its store's number, and each event once."""
        facts: list[Finding] = []
        events: dict[str, Finding] = {}
        servers: list[str] = []
        ahead_us: int | None = None
        for number, part in enumerate(self.parts, 1):
            try:
                found = part.examine()
            except RegistryUnavailable as error:
                facts.append(Finding(f"store {number}", "note", "unavailable", str(error)))
                continue
            servers.append(found.server)
            facts += (fact._replace(about=f"{fact.about} ({number})") for fact in found.facts)
            events |= {event.about: event for event in found.events}
            if found.ahead_us is not None:
                ahead_us = max(found.ahead_us, ahead_us or 0, key=abs)
        if not servers:
            raise RegistryUnavailable("; ".join(fact.meaning for fact in facts), url=self.url)
        one = Finding(
            "one of the stores is unavailable", "good", "survived", "members use the other stores"
        )
        return StoreReport(", ".join(servers), tuple(facts), (*events.values(), one), ahead_us)

    def _at_any_store(
        self, verb: Callable[[Registry, VerbRequest], Claim | Wait], ask: VerbRequest
    ) -> Claim | Wait:
        """A claim from the last store or another one; otherwise the shortest wait."""
        numbers = shuffled(range(len(self.parts)))
        waits: list[Wait] = []
        failures: list[FrazilError] = []
        for number in sorted(numbers, key=lambda n: n != self._at):
            try:
                told = self._told(number, ask)
                reply = self._heard(number, told, verb(self.parts[number], told))
            except _AWAY as error:
                failures.append(error)
                continue
            if isinstance(reply, Claim):
                self._at = number
                return reply
            waits.append(reply)
        if waits:
            return min(waits, key=lambda wait: wait.wait_us)
        # An unavailable store may return soon; a wrong clock must be set.
        raise min(failures, key=lambda error: not isinstance(error, RegistryUnavailable))

    def _at_own_store(
        self, verb: Callable[[Registry, VerbRequest], _Reply], ask: VerbRequest
    ) -> _Reply | Lost:
        """The reply of the store whose claim is held; Lost if that store is unavailable."""
        slot = ask.held.slot if ask.held is not None else -1
        for number, part in enumerate(self.parts):
            if slot in part.terms.slots:
                try:
                    told = self._told(number, ask)
                    reply = self._heard(number, told, verb(part, told))
                except _AWAY:
                    assert ask.held is not None
                    now_us = boot_ns() // 1000
                    end_us = now_us + 2 * self.terms.wait_ticks * self.terms.tick_us
                    self._left[number] = ask.held, end_us, now_us
                    return Lost(_outside(number, self._memory[number]))
                self._left.pop(number, None)
                return reply
        raise ConfigError("renew and release need a claim; pass the one that was granted")

    def _report(self, ask: VerbRequest) -> None:
        """Tell the stores that were left what this member knows; they may have lost it.

        Only members that remember end a loss without a repeat (see ``frazil.claims.record``). A
        report goes out every quarter of a horizon, until the last claim there and a wait are over.
        It renews that claim to the end that it has, which changes nothing: a forked child reports
        too, and its parent may have gone back to the claim, so nothing may be given back.
        """
        for number, (claim, end_us, next_us) in list(self._left.items()):
            part, now_us = self.parts[number], boot_ns() // 1000
            if now_us > end_us:
                del self._left[number]
            elif now_us >= next_us and ask.held is not None and ask.held.slot != claim.slot:
                pause_us = self.terms.horizon_ticks * self.terms.tick_us // 4
                self._left[number] = claim, end_us, now_us + pause_us
                told = self._told(number, ask)._replace(held=claim)
                with suppress(FrazilError):
                    self._heard(number, told, part.renew(told, claim.until))

    def _told(self, number: int, ask: VerbRequest) -> VerbRequest:
        """The request with the memory of this store."""
        return ask._replace(seen=self._memory[number])

    def _heard(self, number: int, told: VerbRequest, reply: _Reply) -> _Reply:
        """Remember a store's reply; returns it for the caller."""
        memory = remembered(told, reply, boot_ns() // 1000, self.terms)
        self._memory[number] = memory
        seen = _outside(number, memory)
        return seen if isinstance(reply, LastSeen) else reply._replace(seen=seen)


def _outside(number: int, seen: LastSeen) -> LastSeen:
    """The memory of a store's record as callers see it."""
    return seen._replace(sid=f"{number}@{seen.sid}") if seen.sid else seen
