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

A member that moved to another store still reports to the one it left, with its renewals.

Limits: a member whose store is unavailable keeps its claim, cannot extend it, and gets another node
number from another store. Layouts with fewer node numbers than stores cannot be shared, nor can
counters, which have no node numbers.
"""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from frazil.claims.claim import Claim, LastSeen, Lost, Terms, VerbRequest, Wait
from frazil.errors import ClockError, ConfigError, FrazilError, RegistryUnavailable
from frazil.registries.base import Registry
from frazil.registries.composed import ComposedRegistry, Verb
from frazil.registries.doctor import Finding, StoreReport
from frazil.system.clock import boot_ns

_AWAY = (RegistryUnavailable, ClockError)
_Reply = TypeVar("_Reply", Claim | Lost, LastSeen | Lost)


class PartitionedRegistry(ComposedRegistry):
    """A registry over independent ones, each in a store of its own."""

    def __init__(self, url: str, terms: Terms, parts: Sequence[Registry]) -> None:
        super().__init__(url, terms, parts)
        # The last claim of a store that was left, until when it is reported and when next
        self._left: dict[int, tuple[Claim, int, int]] = {}

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self._somewhere(lambda part, told: part.grant(told, want), ask)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self._somewhere(lambda part, told: part.mint(told, ticks), ask)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        """See Registry. Lost too if the claim's store is unavailable: others can grant one."""
        reply = self._at_home(_renewal(until), ask)
        read_ns = self.read_ns
        self._report(ask)
        self.read_ns = read_ns
        return reply

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        """See Registry. Lost too if the claim's store is unavailable."""
        return self._at_home(lambda part, told: part.release(told, used), ask)

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
        for number in range(len(self.parts)):
            try:
                seen = self._ask(number, lambda part, told: part.initialise(told, start), ask)
            except FrazilError as error:
                failures.append(error)
        away = [error for error in failures if isinstance(error, _AWAY)]
        if away or seen is None:
            raise (away or failures)[0]
        return seen

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

    def _somewhere(self, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        """A claim from the last store or another one; otherwise the shortest wait."""
        numbers = random.sample(range(len(self.parts)), len(self.parts))
        waits: list[Wait] = []
        failures: list[FrazilError] = []
        for number in sorted(numbers, key=lambda n: n != self._at):
            try:
                reply = self._ask(number, verb, ask)
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

    def _at_home(self, verb: Verb[_Reply], ask: VerbRequest) -> _Reply | Lost:
        """The reply of the store whose claim is held; Lost if that store is unavailable."""
        number = self._home(ask)
        try:
            reply = self._ask(number, verb, ask)
        except _AWAY:
            assert ask.held is not None
            now_us = boot_ns() // 1000
            end_us = now_us + 2 * self.terms.wait_ticks * self.terms.tick_us
            self._left[number] = ask.held, end_us, now_us
            return Lost(self._shown(number))
        self._left.pop(number, None)
        return reply

    def _report(self, ask: VerbRequest) -> None:
        """Tell the stores that were left what this member knows; they may have lost it.

        Only members that remember end a loss without a repeat (see ``frazil.claims.record``). A
        report goes out every quarter of a horizon, until the last claim there and a wait are over.
        It renews that claim to the end that it has, which changes nothing: a forked child reports
        too, and its parent may have gone back to the claim, so nothing may be given back.
        """
        for number, (claim, end_us, next_us) in list(self._left.items()):
            now_us = boot_ns() // 1000
            if now_us > end_us:
                del self._left[number]
            elif now_us >= next_us and ask.held is not None and ask.held.slot != claim.slot:
                pause_us = self.terms.horizon_ticks * self.terms.tick_us // 4
                self._left[number] = claim, end_us, now_us + pause_us
                with suppress(FrazilError):
                    self._ask(number, _renewal(claim.until), replace(ask, held=claim))


def _renewal(until: int) -> Verb[Claim | Lost]:
    return lambda part, told: part.renew(told, until)
