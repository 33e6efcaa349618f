"""Shelves: several records of one namespace in one store, each with a share of its node numbers.

Most stores read and write a record whole, under one lock. So a step would cost more the more claims
are held, and all members would queue for it. A namespace of more node numbers than ``SHELF_SLOTS``
has several records instead. No two shelves have a slot in common, so the invariants hold on each.

**How many shelves** is a part of the layout's text in every record ("shelf 1 of 4"), so a shelf
refuses members that count otherwise, and they follow its count. A missing shelf is made only in one
step that sees all of them, and then with a guard, as after any loss: else a member that expects
eight shelves would make the sixth one of a namespace of four. A new namespace gets all its shelves
in one step, with one ``sid``, so it waits once.

**Memory.** A member visits few shelves. It sends to each what it remembers of it; to a shelf that
it has not visited, the clock and the ``sid`` of the last one that answered, with ``VISITOR`` as the
revision: so a shelf with another ``sid`` does not think that it lost something. How far its claims
on other shelves reach, it does not say: each visitor would prolong the wait of a shelf.

**A loss** may be one of the whole store that only members notice, by what they remember, as after a
restored machine. So before the request of a member that finds its shelf lost is done, it has told
all the others, which then wait, too.

**A loss that the store shows** is noticed at each shelf by itself. If the new clock is behind, a
shelf whose holders have ended would have no member to say how far the lost clock was. So a member
that finds a lost shelf behind its own clock also tells the first shelf, and a member that may end
the wait of a shelf asks the first one before, and takes its guard there.

**Grants.** A member asks a random shelf for a free slot, then the others; if no shelf has one, it
shares the slot that it has to wait for least. So in a full namespace a grant takes a step for each
shelf, and one more.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeVar

from frazil.claims.claim import VISITOR, Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.claims.packed_slots import PackedSlots
from frazil.claims.record import Record, layout_mismatch
from frazil.errors import ConfigError
from frazil.registries.base import Head, NoShelf, RecordRegistry, Registry
from frazil.registries.composed import ComposedRegistry, Reply, Verb, share_of, share_terms
from frazil.registries.doctor import Finding, StoreReport

SHELF_SLOTS = 1 << 62
"""The most slots of a shelf, while there are fewer than ``MOST_SHELVES``. No namespace has as many:
none has shelves before a member can tell all of them of a loss in one step; see decision 37."""

MOST_SHELVES = 64
_SHELF = "shelf"
_GUARDED = 2  # after so many shelves that wait after a loss, the others are not asked
_TRIES = 8

Answer = TypeVar("Answer")


class ShelfStore(Protocol):
    """Makes the registry of a shelf, or of the only record (shelf None)."""

    def __call__(self, terms: Terms, shelf: int | None, /) -> RecordRegistry: ...


class _Follow(Exception):
    """The namespace has another number of shelves."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class ShelvedRegistry(ComposedRegistry):
    """A registry over the shelves of one namespace in one store."""

    parts: tuple[RecordRegistry, ...]

    def __init__(self, terms: Terms, store: ShelfStore, count: int) -> None:
        self._store = store
        super().__init__("", terms, self._shelves(terms, count))
        self.url = self.parts[0].url
        self._latest = LastSeen()
        self._untold: dict[int, VerbRequest] = {}

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self._somewhere(lambda part, told: part.grant(told, want), ask)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self._somewhere(lambda part, told: part.mint(told, ticks), ask)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        return self._at_home(lambda part, told: part.renew(told, until), ask)

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        return self._at_home(lambda part, told: part.release(told, used), ask)

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        """See Registry. All shelves are made in one step; none may exist."""
        self.prepare()
        return self._following(ask, lambda: self._make(ask, start, new=True))

    def prepare(self) -> None:
        self.parts[0].prepare()

    def look(self) -> Snapshot | None:
        for part in self.parts:
            if (found := part.look()) is not None:
                self._count(share_of(found.layout, _SHELF))
                return super().look()
        return None

    def examine(self) -> StoreReport:
        """See Registry. The store's facts, and the number of shelves."""
        found = self.parts[0].examine()
        shelves = Finding("shelves", "good", f"{len(self.parts)} records of this namespace")
        return found._replace(facts=(*found.facts, shelves))

    def on_first(self, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        """The reply of the first shelf."""
        return self._following(ask, lambda: self._after_wait(0, verb, ask))

    def _shelves(self, terms: Terms, count: int) -> tuple[RecordRegistry, ...]:
        if count == 1:
            return (self._store(terms, None),)
        return tuple(
            self._store(share_terms(terms, _SHELF, number, count), number)
            for number in range(count)
        )

    def _count(self, count: int) -> None:
        """Have so many shelves from now on."""
        if count != len(self.parts):
            self.close()
            self.parts = self._shelves(self.terms, count)
            self._at = random.randrange(count)  # noqa: S311 - spreads members over the shelves
            self._memory.clear()
            self._untold.clear()

    def _following(self, ask: VerbRequest, verb: Callable[[], Answer]) -> Answer:
        """The answer of a verb, after what is missing is made and counted as the others do."""
        for _ in range(_TRIES):
            try:
                return verb()
            except NoShelf:
                try:
                    self._make(ask, None)
                except _Follow as other:
                    self._count(other.count)
            except _Follow as other:
                self._count(other.count)
            except ConfigError as error:
                theirs = str(error.facts.get("theirs", ""))
                count = share_of(theirs, _SHELF)
                alike = theirs.partition(" | ")[0] == self.terms.layout
                if not alike or count == len(self.parts):
                    raise
                self._count(count)
        raise self.parts[0].crowded()

    def _make(self, ask: VerbRequest, start: int | None, *, new: bool = False) -> LastSeen:
        """Make all shelves that are missing, in one step. new: none may exist."""
        parts, seen = self.parts, LastSeen()

        def make(
            heads: Sequence[Head | None], reading_us: int, incarnation: str
        ) -> Mapping[int, Record]:
            nonlocal seen
            made: dict[int, Record] = {}
            for layout, _ in filter(None, heads):
                if (count := share_of(layout, _SHELF)) != len(parts):
                    raise _Follow(count)
            for number, (part, head) in enumerate(zip(parts, heads, strict=True)):
                if head is None:
                    record, told = Record(PackedSlots()), self._told(number, ask)
                    seen = record.initialise(part.terms, told, reading_us, incarnation, start)
                    made[number] = record
                    continue
                layout, fingerprint = head
                if fingerprint != part.terms.fingerprint:
                    raise layout_mismatch(layout, part.terms)
                if new:
                    raise ConfigError(
                        f"{self.terms.named} already has a record; to start again, choose another "
                        "name",
                        revision=0,
                    )
            return made

        parts[0].make_shelves(parts, make)
        return seen

    def _at_home(self, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        told = replace(ask, ends_wait=False)
        return self._following(ask, lambda: self._ask(self._home(ask), verb, told))

    def _somewhere(self, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        """A claim of a free slot; else one that is shared, or the shortest wait."""
        return self._following(ask, lambda: self._first_of_all(verb, ask))

    def _first_of_all(self, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        count = len(self.parts)
        waits: dict[int, Wait] = {}
        numbers = random.sample(range(count), count)
        # The first shelf comes second, because its wait after a loss is the first to end.
        for number in sorted(numbers, key=lambda n: (n != self._at, n != 0)):
            reply = self._after_wait(number, verb, replace(ask, only_free=count > 1))
            if isinstance(reply, Claim):
                self._at = number
                return reply
            waits[number] = reply
            if sum(wait.guarded for wait in waits.values()) == _GUARDED:
                break
        least = min(waits, key=lambda number: (waits[number].guarded, waits[number].wait_us))
        self._at = least
        return waits[least] if waits[least].guarded else self._ask(least, verb, ask)

    def _after_wait(self, number: int, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        """The reply of a shelf, which may be in the wait after a loss."""
        reply = self._ask(number, verb, replace(ask, ends_wait=False))
        if isinstance(reply, Wait) and reply.guarded and reply.wait_us <= self.terms.tick_us:
            if number:
                self._take_guard(number, ask)
            reply = self._ask(number, verb, ask)
        return reply

    def _take_guard(self, number: int, ask: VerbRequest) -> None:
        """Remember the first shelf's guard for another one, which then gets it, too."""
        first = replace(ask, only_free=True)
        reply = self._ask(0, lambda part, told: part.mint(told, 1), first)
        if isinstance(reply, Wait) and reply.guarded:
            guard = self.terms.tick_at(reply.seen.now_us + reply.wait_us)
            known = self._remembers(number)
            self._memory[number] = known._replace(reach=max(known.reach, guard))

    def _ask(self, number: int, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        self._tell()
        before = self._told(number, ask)
        reply = super()._ask(number, verb, ask)
        self._latest = after = self._memory[number]
        if before.seen.sid != after.sid and before.seen.sid and before.seen.revision != VISITOR:
            behind = self.terms.tick_at(before.clock_us) - self.terms.tick_at(after.now_us)
            told = replace(before, seen=before.seen._replace(revision=VISITOR), ends_wait=False)
            if after.sid == ask.token:  # this request has noticed it
                others = set(range(len(self.parts))) - {number}
                self._untold = dict.fromkeys(others, replace(told, lost=True))
            elif number and behind > self.terms.slack_ticks:
                self._untold[0] = told
            self._tell()
        return reply

    def _tell(self) -> None:
        """Tell shelves of a loss; what fails is repeated before the next request."""
        while self._untold:
            number, told = next(iter(self._untold.items()))
            with suppress(NoShelf):  # which is made with a guard
                _touch(self.parts[number], told)
            del self._untold[number]

    def _remembers(self, number: int) -> LastSeen:
        known = self._memory.get(number)
        return known or self._latest._replace(revision=VISITOR, reach=0)


def shelved(
    terms: Terms, store: ShelfStore, kind: type[ShelvedRegistry] = ShelvedRegistry
) -> Registry:
    """The registry of a namespace: of one record, or of as many shelves as its slots need."""
    count = min(-(-len(terms.slots) // SHELF_SLOTS), MOST_SHELVES) if terms.timed else 1
    return kind(terms, store, count) if count > 1 else store(terms, None)


def _touch(part: Registry, ask: VerbRequest) -> Lost | Claim:
    """Tell a shelf what is remembered, and change nothing else."""
    nothing = Claim(part.terms.slots.start, 0, 0, "none", 0)
    return part.renew(replace(ask, held=nothing), 0)
