"""The simulated store: a record, or one a shelf, durable or not, with its clock and incarnation.

It fails like real stores: it stops, comes back without its last writes, is replaced by an older
replica on another machine, is emptied, or is restored from a backup. It may lose one shelf alone.
The verbs on a record are the real ones.

The store keeps one assumption, since the protocol excludes other cases from its promise: the first
member after a loss that the store does not show remembers more than the store. Each loss is noted
(``loss``), also for the other limit: that somebody who remembers can tell of it.

A lost counter is refused until an operator restarts it (``World``), because without time waiting
does not end a loss. As in a real store, the part of an incarnation before "/" identifies the data.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TypeAlias

from evidence.simulator.clock import WrongClock
from evidence.simulator.loss import Loss
from frazil.claims.claim import LastSeen
from frazil.claims.record import Record
from frazil.claims.slots import SlotTable

__all__ = ["SimulatedStore"]

Records: TypeAlias = tuple[Record, ...]

_TAIL = 30
_WRITES = 300
_BACKUPS = 8


class SimulatedStore:
    """A namespace's record, or those of its shelves by number, and its faults.

    forgotten: the shelves that lost something since their last write. silent: those of them whose
    records do not show it.
    """

    def __init__(
        self,
        record_type: type[Record],
        clock: WrongClock,
        true_us: Callable[[], int],
        margin_us: int,
        shelves: int,
    ) -> None:
        self._record_type = record_type
        self._true_us = true_us
        self._margin_us = margin_us
        self.losses: list[Loss] = []
        self.clock = clock
        self.records = tuple(self._empty() for _ in range(shelves))
        self.incarnation = "1/1"
        self._starts = 1
        self._data = 1
        self.down_until_us = 0
        self.forgotten: set[int] = set()
        self.silent: set[int] = set()
        self._ever_top_us = [0] * shelves
        self.ever_ahead_us = 0
        self._requests = 0
        self._newest: dict[int, int] = {}
        self._writes = 0
        self._tail: deque[tuple[int, Records]] = deque(maxlen=_WRITES)
        self._backups: deque[Records] = deque(maxlen=_BACKUPS)

    def is_whole(self, shelf: int) -> bool:
        """Whether it never came back, and never lost anything of a shelf."""
        return self._starts == 1 and not any(loss.shelf == shelf for loss in self.losses)

    def loss(self, shelf: int) -> Loss | None:
        """The last loss of a shelf, if nothing was granted from it since."""
        last = next((loss for loss in reversed(self.losses) if loss.shelf == shelf), None)
        return last if last is not None and not last.granted else None

    def serve(self, shelf: int, knows_us: int, sent_us: int, *, grants: bool) -> None:
        """Note that a verb was served. knows_us: what its member knew of the shelf's clock."""
        for loss in self.losses:
            if not loss.granted and loss.shelf == shelf:
                loss.hear(knows_us, sent_us)
                loss.granted = grants

    def hides_from(self, shelf: int, seen: LastSeen) -> bool:
        """Whether history was lost and this member would not notice."""
        record = self.records[shelf]
        remembers = seen.sid == record.sid and seen.revision > record.revision
        moved_on = not record.top_us and seen.reach <= record.guard  # a counter, since then
        return shelf in self.silent and (moved_on or not remembers)

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

    def copy(self, shelf: int = 0) -> Record:
        """The record for a verb to change."""
        record = self.records[shelf]
        assert isinstance(record.slots, SlotTable)
        return replace(record, slots=SlotTable(record.slots))

    def keep(self, record: Record, shelf: int = 0) -> None:
        """Keep the record that a verb has changed."""
        self._tail.append((self._true_us(), self.records))
        self._writes += 1
        if self._writes % 16 == 0:
            self._backups.append(self.records)
        self.records = self._with(shelf, record)
        self.silent.discard(shelf)
        self.forgotten.discard(shelf)
        if not record.incarnation:  # a counter's record that notes a loss
            self.forgotten.add(shelf)
        now_us = record.last_us + record.offset_us
        self._ever_top_us[shelf] = max(self._ever_top_us[shelf], now_us)
        self.ever_ahead_us = max(self.ever_ahead_us, now_us - self._true_us())

    def new_record(self, record: Record) -> Record:
        """A record that was made by a member, as one of this store's kind."""
        slots = SlotTable(record.slots.stored())
        values = {part.name: getattr(record, part.name) for part in fields(record)}
        return self._record_type(**values | {"slots": slots})

    def restart(self, *, replaced: bool = False) -> None:
        """Come back with a new incarnation, which also shows whether the data was replaced."""
        self._starts += 1
        self._data += replaced
        self.incarnation = f"{self._data}/{self._starts}"
        self.silent.clear()

    def lose_tail(self, share: float) -> None:
        """Come back without some of the last writes, usually few."""
        if self._tail:
            most = min(_TAIL, len(self._tail))
            self._forget(self._tail[-1 - int(share**3 * most)][1])
        self.restart(replaced=bool(self.forgotten))

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
        self.restart(replaced=bool(self.forgotten))

    def slip_back(self, share: float) -> None:
        """Lose some of the last writes without a sign of it in the store."""
        if self._tail:
            self.lose_tail(share)
            self.incarnation = self.records[0].incarnation or self.incarnation
            self.silent = set(self.forgotten)

    def wipe(self) -> None:
        """Lose all data, without another sign of it."""
        if self.silent:
            self.restart()  # otherwise other data would show at the next start, like a loss
        self._forget(tuple(self._empty() for _ in self.records))

    def lose_shelf(self, shelf: int) -> None:
        """Lose the record of one shelf, without another sign of it."""
        if self.silent:
            self.restart()
        self._forget(self._with(shelf, self._empty()))

    def _empty(self) -> Record:
        return self._record_type(slots=SlotTable())

    def _with(self, shelf: int, record: Record) -> Records:
        """The records with another one of a shelf."""
        return (*self.records[:shelf], record, *self.records[shelf + 1 :])

    def _forget(self, records: Records) -> None:
        """Continue with the records of an earlier time. The only one counts as lost in any case."""
        before, self.records = self.records, records
        self._tail.clear()
        for shelf, record in enumerate(records):
            if record is before[shelf] and len(records) > 1:
                continue
            self.forgotten.add(shelf)
            if (last := self.loss(shelf)) is not None:
                self.losses.remove(last)  # nothing was granted in between
            top_us = self._ever_top_us[shelf]
            self.losses.append(Loss(shelf, self._true_us(), top_us, self._margin_us))
