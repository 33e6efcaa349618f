"""The simulated store: one record, durable or not, with its own clock and incarnation.

It fails like real stores: it stops, comes back without its last writes, is replaced by an older
replica on another machine, is emptied, or is restored from a backup. The verbs on the record are
the real ones.

The store keeps one assumption, since the protocol excludes other cases from its promise: across a
loss of state the clock is not behind the highest ``now`` ever used, unless the record or the asking
member remembers that; and the first member after a loss that the store does not show remembers more
than the store.

A lost counter is refused until an operator restarts it (``World``), because without time waiting
does not end a loss. As in a real store, the part of an incarnation before "/" identifies the data.
"""

from collections import deque
from dataclasses import replace

from frazil.claims.claim import LastSeen
from frazil.claims.record import Record
from frazil.claims.slots import SlotTable
from simulator.clock import WrongClock

__all__ = ["SimulatedStore"]

_TAIL = 30
_BACKUPS = 8


class SimulatedStore:
    """A namespace's record, and its faults."""

    def __init__(self, record_type: type[Record], clock: WrongClock) -> None:
        self._record_type = record_type
        self.clock = clock
        self.record = record_type(slots=SlotTable())
        self.incarnation = "1/1"
        self._starts = 1
        self._data = 1
        self.down_until_us = 0
        self.forgotten = False
        self.silent = False
        self.ever_top_us = 0
        self._requests = 0
        self._newest: dict[int, int] = {}
        self._writes = 0
        self._tail: deque[Record] = deque(maxlen=_TAIL)
        self._backups: deque[Record] = deque(maxlen=_BACKUPS)

    def reading_us(self, seen: LastSeen) -> int:
        """Its clock's reading for a verb of a member with this memory."""
        reading_us = self.clock.reading_us()
        remembered_us = max(self.record.top_us, seen.now_us)
        if self.forgotten and remembered_us < self.ever_top_us:
            return max(reading_us, self.ever_top_us)
        return reading_us

    def hides_from(self, seen: LastSeen) -> bool:
        """Whether history was lost and this member would not notice."""
        return self.silent and not (
            seen.sid == self.record.sid and seen.revision > self.record.revision
        )

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

    def copy(self) -> Record:
        """The record for a verb to change."""
        slots = self.record.slots
        assert isinstance(slots, SlotTable)
        return replace(self.record, slots=SlotTable(slots))

    def keep(self, record: Record) -> None:
        """Keep the record that a verb has changed."""
        self._tail.append(self.record)
        self._writes += 1
        if self._writes % 16 == 0:
            self._backups.append(self.record)
        self.record = record
        self.forgotten = self.silent = False
        self.ever_top_us = max(self.ever_top_us, record.last_us + record.offset_us)

    def restart(self, *, replaced: bool = False) -> None:
        """Come back with a new incarnation, which also shows whether the data was replaced."""
        self._starts += 1
        self._data += replaced
        self.incarnation = f"{self._data}/{self._starts}"
        self.silent = False

    def lose_tail(self, share: float) -> None:
        """Come back without some of the last writes, usually few."""
        if self._tail:
            self._forget(self._tail[-1 - int(share**3 * len(self._tail))])
        self.restart(replaced=self.forgotten)

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
        self._forget(self._record_type(slots=SlotTable()))

    def _forget(self, record: Record) -> None:
        self.record = record
        self._tail.clear()
        self.forgotten = True
