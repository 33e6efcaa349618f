"""The slots of a record: for each, the first tick not yet granted, and its last holder.

A slot is a node number of one deployment. All slots that were never used are equal (``UNTOUCHED``),
so a record of 65,536 node numbers stores only the slots that were used.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple


class Slot(NamedTuple):
    """A slot's first tick not yet granted, where its last claim began, and its last holder."""

    until: int = 0
    start: int = 0
    token: str = ""
    holder: str = ""
    since_us: int = 0


UNTOUCHED = Slot()


def fit_rank(
    n: int, until: int, token: object, guard: int, late_from: int
) -> tuple[bool, int, int]:
    """The order of ``best_free``, which has the number of the slot at its end."""
    floor = max(until, guard)
    late = bool(token) and until > max(guard, late_from)
    return late, floor if late else -floor, n


def floor_rank(n: int, slot: Slot, now: int, guard: int) -> tuple[int, bool, int]:
    """The order of ``lowest_floor``: by floor, then those that are not held, then by number."""
    return max(slot.until, guard), bool(slot.token) and slot.until > now, n


class Slots(ABC):
    """What the verbs need of a record's slots. A slot that was never put is UNTOUCHED."""

    __slots__ = ()

    @abstractmethod
    def get(self, n: int) -> Slot:
        """Slot number n."""

    @abstractmethod
    def put(self, n: int, slot: Slot) -> None:
        """Store slot number n."""

    @abstractmethod
    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        """The best of the slots whose floor is not above ``now``; None if there is none.

        It is the one with the greatest floor, so untouched slots stay in reserve; on a tie the
        lowest. Slots that have a token and ended after ``late_from`` are the last ones, because
        their owners may only be late: of those it is the one that ended first.
        """

    @abstractmethod
    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        """The slot with the least floor; on a tie one that is not held, then the lowest."""

    @abstractmethod
    def void_tokens(self) -> None:
        """Remove every token, and set the start of these slots to their ``until``.

        Such a slot is empty, unlike one that was given back.
        """

    @abstractmethod
    def stored(self) -> Iterator[tuple[int, Slot]]:
        """All slots that were ever put, by number."""


class SlotTable(dict[int, Slot], Slots):
    """Slots in memory, for stores that read and write the whole record."""

    def get(self, n: int) -> Slot:  # type: ignore[override]
        return super().get(n, UNTOUCHED)

    def put(self, n: int, slot: Slot) -> None:
        assert 0 <= slot.start <= slot.until
        self[n] = slot

    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        if guard > now:
            return None
        ranks = [
            fit_rank(n, slot.until, slot.token, guard, late_from)
            for n, slot in self.items()
            if slot.until <= now and n in among
        ]
        untouched = next((n for n in among if n not in self), None)
        if untouched is not None:
            ranks.append(fit_rank(untouched, 0, "", guard, late_from))
        return min(ranks)[-1] if ranks else None

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        free = next((n for n in among if n not in self), None)
        candidates = [n for n in self if n in among]
        if free is not None:
            candidates.append(free)

        return min(candidates, key=lambda n: floor_rank(n, self.get(n), now, guard))

    def void_tokens(self) -> None:
        for n, slot in self.items():
            if slot.token:
                self[n] = Slot(slot.until, slot.until)

    def stored(self) -> Iterator[tuple[int, Slot]]:
        return iter(sorted(self.items()))
