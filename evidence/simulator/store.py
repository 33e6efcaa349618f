"""The simulated store: one record, durable or not, with its own clock and incarnation.

It fails like real stores: it stops, comes back without its last writes, is replaced by an older
replica on another machine, is emptied, or is restored from a backup. The verbs on the record are
the real ones.

The store keeps one assumption, since the protocol excludes other cases from its promise: the first
member after a loss that the store does not show remembers more than the store. Each loss is noted
(``loss``), also for the other limit: that somebody who remembers can tell of it.

A lost counter is refused until an operator restarts it (``World``), because without time waiting
does not end a loss. As in a real store, the part of an incarnation before "/" identifies the data.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from evidence.simulator.clock import WrongClock
from evidence.simulator.loss import Loss
from frazil.claims.claim import LastSeen
from frazil.claims.record import Record
from frazil.claims.shelves import united
from frazil.claims.slots import SlotTable

__all__ = ["SimulatedStore"]

Records: TypeAlias = tuple[Record, ...]

_REVISIONS = 1 << 32
_TAIL = 30
_WRITES = 300
_BACKUPS = 8


class SimulatedStore:
    """A namespace's records, one for each shelf, and their faults."""

    def __init__(
        self,
        record_type: type[Record],
        clock: WrongClock,
        true_us: Callable[[], int],
        margin_us: int,
        shelves: int,
        nodes: int,
    ) -> None:
        self._nodes = nodes
        self._record_type = record_type
        self._true_us = true_us
        self._margin_us = margin_us
        self.losses: list[Loss] = []
        self.clock = clock
        self.records: Records = tuple(self._empty(shelf) for shelf in range(shelves))
        self.incarnation = "1/1"
        self._starts = 1
        self._data = 1
        self.down_until_us = 0
        self.forgotten = False
        self.silent = False
        self.ever_top_us = 0
        self.ever_ahead_us = 0
        self._requests = 0
        self._newest: dict[int, int] = {}
        self._writes = 0
        self._tail: deque[tuple[int, Records]] = deque(maxlen=_WRITES)
        self._backups: deque[Records] = deque(maxlen=_BACKUPS)

    @property
    def record(self) -> Record:
        """One record of all shelves, to be read; its revision counts all writes."""
        revision = sum(record.revision for record in self.records)
        return replace(united(self.records, self._nodes), revision=revision)

    @property
    def waits(self) -> bool:
        """Whether nothing was granted since the last loss."""
        return bool(self.losses) and not self.losses[-1].granted

    def serve(self, knows_us: int, sent_us: int, *, grants: bool) -> None:
        """Note that a verb was served. knows_us: what its member knew of the clock."""
        for loss in self.losses:
            if not loss.granted:
                loss.hear(knows_us, sent_us)
                loss.granted = grants

    def locked(self, shelf: int | None) -> Record:
        """What a step on a shelf, or on all, reads; with the revision of the last reading."""
        records = self.records if shelf is None else (self.records[shelf],)
        newest = max(records, key=lambda record: record.last_us)
        return replace(united(records, self._nodes), revision=newest.revision)

    def hides_from(self, seen: LastSeen, shelf: int | None) -> bool:
        """Whether history was lost and this member would not notice on a shelf (None: on all)."""
        record = self.records[seen.shelf]
        remembers = seen.sid == record.sid and seen.revision > record.revision
        remembers = remembers and shelf in (None, seen.shelf)
        moved_on = not record.top_us and seen.reach <= record.guard  # a counter, since then
        return self.silent and (moved_on or not remembers)

    def number_request(self) -> int:
        """The number of a request that is sent now."""
        self._requests += 1
        return self._requests

    def overtaken(self, number: int, member: int) -> bool | None:
        """Whether later requests were served before this one of a member: its own, or others'."""
        if number < self._newest.get(member, 0):
            return True
        overtaken = any(number < newest for newest in self._newest.values())
        self._newest[member] = number
        return False if overtaken else None

    def copy(self, shelf: int) -> Record:
        """The record of a shelf for a verb to change."""
        record = self.records[shelf]
        assert isinstance(record.slots, SlotTable)
        return replace(record, slots=SlotTable(record.slots))

    def keep(self, changed: Mapping[int, Record]) -> None:
        """Keep the records that a verb has changed, by number."""
        self._tail.append((self._true_us(), self.records))
        self._writes += 1
        if self._writes % 16 == 0:
            self._backups.append(self.records)
        self.records = tuple(changed.get(n, record) for n, record in enumerate(self.records))
        self.silent = False
        record = self.record
        if len(changed) == len(self.records):
            self.forgotten = not record.incarnation  # a counter's record that notes a loss
        now_us = record.last_us + record.offset_us
        self.ever_top_us = max(self.ever_top_us, now_us)
        self.ever_ahead_us = max(self.ever_ahead_us, now_us - self._true_us())

    def restart(self, *, replaced: bool = False) -> None:
        """Come back with a new incarnation, which also shows whether the data was replaced."""
        self._starts += 1
        self._data += replaced
        self.incarnation = f"{self._data}/{self._starts}"
        self.silent = False

    def lose_tail(self, share: float) -> None:
        """Come back without some of the last writes, usually few."""
        if self._tail:
            most = min(_TAIL, len(self._tail))
            self._forget(self._tail[-1 - int(share**3 * most)][1])
        self.restart(replaced=self.forgotten)

    def take_over(self, missed_us: int, behind_us: int) -> None:
        """Come back as a replica that missed the writes of some time, with a clock behind."""
        since_us, records = self._true_us() - missed_us, self.records
        for until_us, earlier in reversed(self._tail):
            if until_us <= since_us:
                break
            records = earlier
        self._forget(records)
        self.restart(replaced=True)
        self.clock.thaw()
        self.clock.step(-behind_us)

    def restore(self, share: float) -> None:
        """Come back with an old backup."""
        if self._backups:
            self._forget(self._backups[int(share * len(self._backups))])
        self.restart(replaced=self.forgotten)

    def slip_back(self, share: float) -> None:
        """Lose some of the last writes without a sign of it in the store."""
        if self._tail:
            self.lose_tail(share)
            self.incarnation = self.record.incarnation or self.incarnation
            self.silent = True

    def wipe(self) -> None:
        """Lose all data, without another sign of it."""
        if self.silent:
            self.restart()  # otherwise other data would show at the next start, like a loss
        self._forget(tuple(self._empty(shelf) for shelf, _ in enumerate(self.records)))

    def lose_shelf(self, shelf: int) -> None:
        """Lose the record of one shelf, without another sign of it."""
        if self.silent:
            self.restart()
        self._forget((*self.records[:shelf], self._empty(shelf), *self.records[shelf + 1 :]))

    def _empty(self, shelf: int) -> Record:
        """A record that does not exist. No two shelves have a revision in common."""
        return self._record_type(slots=SlotTable(), revision=shelf * _REVISIONS)

    def _forget(self, records: Records) -> None:
        self.records = records
        self._tail.clear()
        self.forgotten = True
        if self.waits:
            self.losses.pop()  # nothing was granted in between
        self.losses.append(Loss(self._true_us(), self.ever_top_us, self._margin_us))
