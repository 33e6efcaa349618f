"""What registries of several records have in common: each record has a share of the node numbers.

No two shares overlap, so what holds of one record holds of each. A claim belongs to the record that
granted it. What a member remembers of a record is sent to that record, so the registry remembers
it, and callers see each ``sid`` with the number of its record before it.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from frazil.claims.claim import Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.errors import ConfigError, RegistryUnavailable
from frazil.registries.base import Registry
from frazil.registries.remembered import remembered
from frazil.system.clock import boot_ns

Reply = TypeVar("Reply", LastSeen, Claim | Wait, Claim | Lost, LastSeen | Lost)
Verb = Callable[[Registry, VerbRequest], Reply]

_SHARE = re.compile(r" \| (\w+) \d+ of (\d+)$")


def share_terms(terms: Terms, what: str, number: int, count: int) -> Terms:
    """The terms of record ``number`` of ``count``: an equal share of the slots, in order.

    They contain its number ("store 2 of 3"), so members that count otherwise are refused.
    """
    slots = terms.slots
    if len(slots) < count or not terms.timed:
        raise ConfigError(
            f"{terms.layout!r} has {len(slots)} node numbers, which {count} independent stores "
            "cannot share; use one store",
            value=count,
            limit=len(slots),
        )
    share = slots[len(slots) * number // count : len(slots) * (number + 1) // count]
    which = f"{what} {number + 1} of {count}"
    return replace(
        terms, identity=f"{terms.identity} {which}", layout=f"{terms.layout} | {which}", slots=share
    )


def share_of(layout: str, what: str) -> int:
    """How many records a namespace has, by the layout that one of them shows."""
    found = _SHARE.search(layout)
    return int(found[2]) if found and found[1] == what else 1


class ComposedRegistry(Registry):
    """A registry over several, ``parts``, whose terms came from ``share_terms``.

    now_ns: the boot clock of this process, which a simulation replaces.
    """

    def __init__(self, url: str, terms: Terms, parts: Sequence[Registry]) -> None:
        self.url = url
        self.terms = replace(terms, namespace=parts[0].terms.namespace)
        self.read_ns: int | None = None  # unknown
        self.now_ns: Callable[[], int] = boot_ns
        self.parts = tuple(parts)
        self._memory: dict[int, LastSeen] = {}
        self._at = random.randrange(len(parts))  # noqa: S311 - spreads members over the parts

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
            _SHARE.sub("", looks[0].layout),
            whole,
            max(found.now_us for found in looks),
            tuple(sorted(every, key=lambda holding: holding.slot)),
            tuple(str(error) for error in away),
        )

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def _home(self, ask: VerbRequest) -> int:
        """The number of the part that granted the claim of a request."""
        if ask.held is not None:
            for number, part in enumerate(self.parts):
                if ask.held.slot in part.terms.slots:
                    return number
        raise ConfigError("renew and release need a claim; pass the one that was granted")

    def _ask(self, number: int, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        """Send a request with the memory of a part, and remember its reply."""
        part, told = self.parts[number], self._told(number, ask)
        reply = verb(part, told)
        now_ns = self.now_ns()
        self.read_ns = now_ns if part.read_ns is None else part.read_ns
        memory = remembered(told, reply, now_ns // 1000, self.terms)
        self._memory[number] = memory
        seen = self._shown(number)
        return seen if isinstance(reply, LastSeen) else replace(reply, seen=seen)

    def _told(self, number: int, ask: VerbRequest) -> VerbRequest:
        """A request with what is remembered of a part."""
        return replace(ask, seen=self._remembers(number))

    def _remembers(self, number: int) -> LastSeen:
        """What is sent to a part."""
        return self._memory.get(number, LastSeen())

    def _shown(self, number: int) -> LastSeen:
        """The memory of a part as callers see it."""
        seen = self._remembers(number)
        return seen._replace(sid=f"{number}@{seen.sid}") if seen.sid else seen
