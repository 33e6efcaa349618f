"""A registry over a store that can lock one shelf of a namespace, or all of them in one step.

A verb first asks one shelf (see ``frazil.claims.shelves``). That counts if the verb left the head
of the record as it was, and did not have to wait. Otherwise nothing was saved, and the verb is
repeated on all shelves in one step. So a namespace that is new, that lost something, or that waits
after a loss is one record, and a loss that shows on one shelf is noticed for all. A step on another
shelf than the first one also compares the head of that one, which members with one record write: it
may have been lost, put back, or made again with other terms.

**Which shelf.** A renewal and a release go to the shelf of their claim. A grant goes to the one
that the member heard of last, whose revision tells of a loss that the store does not show; a
newcomer goes to any, by its random token. If no slot is free there, all shelves are asked in a
second step, which finds a free slot on another one, or the slot that can be shared first.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TypeVar
from zlib import crc32

from frazil.claims.claim import Claim, LastSeen, Lost, Snapshot, Terms, VerbRequest, Wait
from frazil.claims.past import claim_past, declare_past
from frazil.claims.record import Record
from frazil.claims.shelves import (
    MOST_SHELVES,
    count_in,
    counted,
    divided,
    head,
    share,
    united,
    usual_count,
)
from frazil.errors import ConfigError, Misuse, Stopped
from frazil.inputs.url import Url
from frazil.registries.base import Answer, RecordRegistry

Reply = TypeVar("Reply", bound=LastSeen | Claim | Wait | Lost)
Verb = Callable[[Record, Terms, VerbRequest, int, str], Reply]

_RECOUNTS = 3


class AllNeeded(Exception):
    """Raised in a step on one shelf that is not enough, so that nothing is saved."""


class Changes:
    """The records of a step as they were read, and by name those that the verb has changed."""

    def __init__(self, names: Sequence[str], records: Sequence[Record]) -> None:
        self._read = [
            (name, record, record.sid, record.revision)
            for name, record in zip(names, records, strict=False)  # those beside are not saved
        ]

    def __iter__(self) -> Iterator[tuple[str, Record, int]]:
        """Of each changed record its name, itself, and the revision that it had."""
        for name, record, sid, revision in self._read:
            if (record.sid, record.revision) != (sid, revision):
                yield name, record, revision


class ShelvedRegistry(RecordRegistry):
    """A registry whose store keeps the shelves of a namespace under names of their own."""

    def __init__(self, url: Url | str, namespace: str, terms: Terms) -> None:
        super().__init__(url, namespace, terms)
        self._plain = self.terms
        self._new = False  # whether a person says that the namespace is new
        self._count(usual_count(terms))

    @abstractmethod
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> AbstractContextManager[tuple[list[Record], str]]:
        """The records of these names, locked in one step, and the store's incarnation.

        Those that have ``Changes`` are saved durably, all in one step, when the block ends;
        if it raises, none is. beside: further records, of which only the head is needed. They are
        read without a lock, no earlier than the clock, and are not saved. A store that cannot read
        them so compares them after the save, and repeats the step if one has changed: then what it
        saved is as after a lost answer.
        """

    def name_of(self, shelf: int) -> str:
        """What a shelf is stored under: the namespace, and a number after it if it is not 0."""
        return f"{self.namespace}\x1f{shelf}" if shelf else self.namespace

    @contextmanager
    def step(self, shelf: int | None = None, at: int = 0) -> Iterator[tuple[Record, str]]:
        """One shelf, or all as one record that shows the revision of shelf ``at``."""
        numbers = range(self.count) if shelf is None else [shelf]
        at = at if shelf is None else 0
        names = [self.name_of(number) for number in numbers]
        beside = [self.name_of(0)] if shelf else []
        if self._new:  # no other shelf may be left of an earlier one
            beside = [self.name_of(number) for number in range(self.count, MOST_SHELVES)]
        with self.locked(names, beside) as (found, incarnation):
            records = found[: len(names)]
            for other in found[len(names) :]:
                self._compare(other, records[0])
            whole = united(records, self.terms.nodes, at)
            offset_us = whole.offset_us
            yield whole, incarnation
            divided(whole, records, at, clock=self._stepped(whole, offset_us))

    def _compare(self, other: Record, record: Record) -> None:
        """Compare the first shelf with another one; or what is left with what is to be new."""
        if self._new and other.sid:
            raise ConfigError(
                f"{self.terms.named} already has a record; to start again, choose another name",
                revision=other.revision,
            )
        if not self._new and head(other) != head(record):
            raise AllNeeded

    def _stepped(self, record: Record, offset_us: int) -> bool:
        """Whether a step back of the clock was noticed, of which members of all shelves must know.

        They remember it, if the shelf that noticed it is lost. offset_us: that before the verb.
        """
        return record.offset_us > offset_us + self.terms.slack_ticks * self.terms.tick_us

    def grant(self, ask: VerbRequest, want: int) -> Claim | Wait:
        return self._on_any_shelf(lambda r, *told: r.grant(*told, want), ask)

    def mint(self, ask: VerbRequest, ticks: int) -> Claim | Wait:
        return self._on_any_shelf(lambda r, *told: r.mint(*told, ticks), ask)

    def renew(self, ask: VerbRequest, until: int) -> Claim | Lost:
        reply: Claim | Lost = self._on_own_shelf(lambda r, *told: r.renew(*told, until), ask)
        return reply

    def release(self, ask: VerbRequest, used: int) -> LastSeen | Lost:
        reply: LastSeen | Lost = self._on_own_shelf(lambda r, *told: r.release(*told, used), ask)
        return reply

    def initialise(self, ask: VerbRequest, start: int | None) -> LastSeen:
        self._new = start is not None and self.terms.timed
        try:
            reply: LastSeen = self._everywhere(lambda r, *told: r.initialise(*told, start), ask)
            return reply
        finally:
            self._new = False

    def claim_past(self, ask: VerbRequest, region: tuple[int, int]) -> Claim | Wait | Lost:
        verb: Callable[..., Claim | Wait | Lost] = partial(claim_past, region=region)
        return self._everywhere(verb, ask)

    def declare_past(self, ask: VerbRequest, start: int) -> LastSeen | Wait:
        verb: Callable[..., LastSeen | Wait] = partial(declare_past, start=start)
        return self._everywhere(verb, ask)

    def look(self) -> Snapshot | None:
        """See Registry. The layout is shown without the number of shelves."""
        found = super().look()
        if found is None:
            return None
        layout, count = count_in(found.layout)
        if count != self.count and layout == self._plain.layout:
            self._count(count)
            return self.look()
        return found._replace(layout=layout)

    def _count(self, count: int) -> None:
        """Have so many shelves from now on."""
        self.count = count
        self.terms = counted(self._plain, count)
        self._shares = [share(self.terms, shelf, count) for shelf in range(count)]

    def _on_any_shelf(self, verb: Verb[Claim | Wait], ask: VerbRequest) -> Claim | Wait:
        known = ask.seen.shelf if ask.seen.sid else self.count
        if self.count > 1:
            any_of_them = crc32(ask.token.encode()) % self.count
            shelf = known if known < self.count else any_of_them
            with suppress(AllNeeded):
                return self._on(shelf, verb, ask, free=True)
        return self._everywhere(verb, ask)

    def _on_own_shelf(self, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        if self.count > 1 and ask.held is not None:
            slot = ask.held.slot
            for shelf, terms in enumerate(self._shares):
                if slot in terms.slots:
                    try:
                        return self._on(shelf, verb, ask)
                    except AllNeeded:
                        break
        return self._everywhere(verb, ask)

    def _on(self, shelf: int, verb: Verb[Reply], ask: VerbRequest, *, free: bool = False) -> Reply:
        """The reply of one shelf. free: a slot that is free is asked for. Raises AllNeeded."""
        terms, told = self._shares[shelf], _told(ask, shelf)

        def alone(record: Record, reading_us: int, incarnation: str) -> Reply:
            before, offset_us = head(record), record.offset_us
            if not record.sid or record.waits:
                raise AllNeeded
            try:
                reply = verb(record, terms, told, reading_us, incarnation)
            except (Misuse, Stopped):
                raise AllNeeded from None
            if head(record) != before or self._stepped(record, offset_us):
                raise AllNeeded
            if free and not _begins_now(reply, terms):
                raise AllNeeded("no slot is free on a shelf")
            return reply

        return _from(shelf, self.perform(alone, shelf))

    def _everywhere(self, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        """The reply of all shelves, after they are counted as the record does."""
        for _ in range(_RECOUNTS):
            try:
                return self._on_all(verb, ask)
            except ConfigError as error:
                layout, count = count_in(str(error.facts.get("theirs", "")))
                if count == self.count or layout != self._plain.layout:
                    raise
                self._count(count)
        raise self.crowded()

    def _on_all(self, verb: Verb[Reply], ask: VerbRequest) -> Reply:
        at = ask.seen.shelf if ask.seen.shelf < self.count else 0
        terms, told = self.terms, _told(ask, at)

        def whole(record: Record, reading_us: int, incarnation: str) -> Reply:
            return verb(record, terms, told, reading_us, incarnation)

        return _from(at, self.perform(whole, None, at))

    def perform(
        self,
        verb: Callable[[Record, int, str], Answer],
        shelf: int | None = None,
        at: int = 0,
    ) -> Answer:
        """See RecordRegistry and ``step``."""
        return self.kept(self.step(shelf, at), verb)


def _begins_now(reply: object, terms: Terms) -> bool:
    """Whether it is a claim of a slot that was free: one that is shared begins later."""
    return isinstance(reply, Claim) and reply.start <= terms.tick_at(reply.now_us)


def _told(ask: VerbRequest, shelf: int) -> VerbRequest:
    """The request with what the member knows of a shelf: of the last one also the revision."""
    if ask.seen.shelf == shelf:
        return ask
    return ask._replace(seen=ask.seen._replace(shelf=shelf, revision=0))


def _from(shelf: int, reply: Reply) -> Reply:
    """A reply with the number of the shelf whose revision it tells."""
    told: LastSeen | Claim | Wait | Lost = reply
    if isinstance(told, LastSeen):
        told = told._replace(shelf=shelf)
    else:
        told = told._replace(seen=told.seen._replace(shelf=shelf))
    return told  # type: ignore[return-value]  # of the same kind
