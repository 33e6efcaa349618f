"""The simulated store: one record, durable or not, with a clock and an incarnation of its own.

What it does to its record is what stores do: it goes away, comes back without its last writes, is
replaced by an older replica on another machine, is emptied, is put back from a backup. The verbs on
the record are the real ones.

One thing is assumed and so kept here, because the protocol prints it as outside of its promise:
across a loss of state the clock is not behind the highest ``now`` that was ever used.
"""

from collections import deque
from dataclasses import replace

from frazil.record import Record, SlotTable
from frazil.testing.simulate.clock import WrongClock

__all__ = ["SimulatedStore"]

_TAIL = 30
_BACKUPS = 8


class SimulatedStore:
    """A namespace's record, and what may happen to it."""

    def __init__(self, record_type: type[Record], clock: WrongClock) -> None:
        self._record_type = record_type
        self.clock = clock
        self.record = record_type(slots=SlotTable())
        self.incarnation = "1"
        self.down_until_us = 0
        self.forgotten = False
        self.ever_top_us = 0
        self._writes = 0
        self._tail: deque[Record] = deque(maxlen=_TAIL)
        self._backups: deque[Record] = deque(maxlen=_BACKUPS)

    def reading_us(self) -> int:
        """What its clock says to a verb."""
        reading_us = self.clock.reading_us()
        return max(reading_us, self.ever_top_us) if self.forgotten else reading_us

    def copy(self) -> Record:
        """The record for a verb to change."""
        slots = self.record.slots
        assert isinstance(slots, SlotTable)
        return replace(self.record, slots=SlotTable(slots))

    def keep(self, record: Record) -> None:
        """Take over what a verb has left."""
        self._tail.append(self.record)
        self._writes += 1
        if self._writes % 16 == 0:
            self._backups.append(self.record)
        self.record = record
        self.forgotten = False
        self.ever_top_us = max(self.ever_top_us, record.last_us + record.offset_us)

    def restart(self) -> None:
        """Come back with everything."""
        self.incarnation = f"{int(self.incarnation) + 1}"

    def lose_tail(self, share: float) -> None:
        """Come back without some of the last writes, mostly few."""
        if self._tail:
            self._forget(self._tail[-1 - int(share**3 * len(self._tail))])
        self.restart()

    def restore(self, share: float) -> None:
        """Come back with an old backup."""
        if self._backups:
            self._forget(self._backups[int(share * len(self._backups))])
        self.restart()

    def wipe(self) -> None:
        """Lose everything, and look as before otherwise."""
        self._forget(self._record_type(slots=SlotTable()))

    def _forget(self, record: Record) -> None:
        self.record = record
        self._tail.clear()
        self.forgotten = True
