"""Shelves: the record of a namespace in several parts, each with a share of the node numbers.

A store reads and writes a value whole, under one lock. With one value for a namespace, a step costs
the more the more claims are held, and all members queue for it. So a namespace of many node numbers
has several *shelves*, and most steps read and write one of them.

All shelves together are one record. What must be the same for all slots (the *head*: sid, wait,
incarnation, terms and guard) stands on every shelf, and changes only in a step that locks all of
them: ``united`` makes one record of them, the verb sees that, and ``divided`` writes back what
changed. The clock and the revision are each shelf's own. So a step on one shelf is a step of the
protocol if it leaves the head as it was: no two shelves have a slot in common, no verb grants
beyond the horizon of its shelf's ``now``, and a guard is set beyond the latest ``now`` of all.

The number of shelves is a part of the layout's text ("| 4 shelves") and of the fingerprint. A
member that counts otherwise is refused, as by a record with another layout, and then counts as the
record does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from frazil.claims.claim import Terms
from frazil.claims.record import Record
from frazil.claims.slots import Slot, Slots, fit_rank, floor_rank

SHELF_NODES = 256
"""The node numbers of a shelf, while there are fewer than ``MOST_SHELVES``.

More make a step slower, and fewer hardly faster: docs/decisions/0037-shelves.md has measurements.
"""

MOST_SHELVES = 64
"""A step on all shelves must fit into one transaction."""

_COUNT = re.compile(r" \| (\d+) shelves$")


def usual_count(terms: Terms) -> int:
    """How many shelves a new namespace has."""
    whole = terms.timed and len(terms.slots) == terms.nodes
    return min(terms.nodes // SHELF_NODES, MOST_SHELVES) or 1 if whole else 1


def counted(terms: Terms, count: int) -> Terms:
    """The terms of a namespace with so many shelves."""
    if count == 1:
        return terms
    which = f"{count} shelves"
    return terms._replace(identity=f"{terms.identity} {which}", layout=f"{terms.layout} | {which}")


def count_in(layout: str) -> tuple[str, int]:
    """The layout that a record shows, without its number of shelves; and that number."""
    found = _COUNT.search(layout)
    return (layout[: found.start()], int(found[1])) if found else (layout, 1)


def share(terms: Terms, shelf: int, count: int) -> Terms:
    """The terms of one shelf: those of the namespace, with fewer slots."""
    size = len(terms.slots)
    return terms._replace(slots=terms.slots[size * shelf // count : size * (shelf + 1) // count])


class ShelvedSlots(Slots):
    """The slots of all shelves. changed: the shelves on which something was put."""

    __slots__ = ("changed", "nodes", "parts")

    def __init__(self, parts: Sequence[Slots], nodes: int) -> None:
        self.parts = parts
        self.nodes = nodes
        self.changed: set[int] = set()

    def shelf_of(self, n: int) -> int:
        """The shelf of slot number n."""
        return ((n % self.nodes + 1) * len(self.parts) - 1) // self.nodes

    def get(self, n: int) -> Slot:
        return self.parts[self.shelf_of(n)].get(n)

    def put(self, n: int, slot: Slot) -> None:
        shelf = self.shelf_of(n)
        self.changed.add(shelf)
        self.parts[shelf].put(n, slot)

    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        found = (part.best_free(now, guard, each, late_from) for part, each in self._shares(among))
        free = {n: self.get(n) for n in found if n is not None}
        ranks = [fit_rank(n, s.until, s.token, guard, late_from) for n, s in free.items()]
        return min(ranks)[-1] if ranks else None

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        found = (part.lowest_floor(now, guard, each) for part, each in self._shares(among))
        return min(found, key=lambda n: floor_rank(n, self.get(n), now, guard))

    def void_tokens(self) -> None:
        self.changed.update(range(len(self.parts)))
        for part in self.parts:
            part.void_tokens()

    def stored(self) -> Iterator[tuple[int, Slot]]:
        found = (each for part in self.parts for each in part.stored())
        return iter(sorted(found, key=lambda each: each[0]))

    def _shares(self, among: range) -> Iterator[tuple[Slots, range]]:
        """The shelves that have some of these slots, which belong to one deployment."""
        at = among.start
        while at < among.stop:
            shelf = self.shelf_of(at)
            end = at - at % self.nodes + self.nodes * (shelf + 1) // len(self.parts)
            yield self.parts[shelf], range(at, min(end, among.stop))
            at = end


def head(record: Record) -> tuple[object, ...]:
    """What all shelves have in common."""
    return record.sid, record.incarnation, record.fingerprint, record.layout, record.guard


def united(records: Sequence[Record], nodes: int, at: int = 0) -> Record:
    """One record of all shelves, by number. at: the shelf whose revision it shows.

    A shelf that is missing, or has another head, was lost: then the incarnation is "".
    """
    if len(records) == 1:
        return records[0]
    slots = ShelvedSlots([record.slots for record in records], nodes)
    made = [record for record in records if record.sid]
    if not made:
        return replace(records[at], slots=slots)
    last_us = max(record.last_us for record in records)
    same = len({head(record) for record in records}) == 1
    return replace(
        made[0],
        slots=slots,
        incarnation=made[0].incarnation if same else "",
        revision=records[at].revision,
        guard=max(record.guard for record in records),
        last_us=last_us,
        offset_us=max(record.last_us + record.offset_us for record in records) - last_us,
        top_us=max(record.top_us for record in records),
    )


def divided(whole: Record, records: Sequence[Record], at: int = 0, *, clock: bool = False) -> None:
    """Write the changes of a verb on the united record to the shelves.

    A shelf that must be saved has another sid or revision than before. clock: whether all must
    know the clock.
    """
    if len(records) == 1:
        return
    assert isinstance(whole.slots, ShelvedSlots)
    writes = whole.revision - records[at].revision
    for shelf, record in enumerate(records):
        if clock or shelf == at or shelf in whole.slots.changed or head(record) != head(whole):
            record.revision += writes
            record.sid, record.incarnation = whole.sid, whole.incarnation
            record.fingerprint, record.layout = whole.fingerprint, whole.layout
            record.guard, record.top_us = whole.guard, whole.top_us
            record.last_us, record.offset_us = whole.last_us, whole.offset_us
