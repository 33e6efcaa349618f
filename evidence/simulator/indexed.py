"""The slots of a record with an index, for fleets of a hundred thousand members.

The tables of ``frazil.claims`` look at every slot to choose one, which a store does in C, and which
takes hours here. This chooses from a sorted list; a test compares the choices.
"""

from bisect import bisect_left, bisect_right, insort

from frazil.claims.slots import UNTOUCHED, Slot, SlotTable

__all__ = ["IndexedSlots"]


class IndexedSlots(SlotTable):
    """See ``frazil.claims.slots.Slots``. All slots of a record must be asked for ``among``."""

    def __init__(self) -> None:
        super().__init__()
        self._floors: list[tuple[int, int]] = []  # (until, number) of each slot that was put
        self._new = 0  # no slot below it is untouched

    def put(self, n: int, slot: Slot) -> None:
        """Store slot number n."""
        old = super().get(n)
        if old is not UNTOUCHED:
            del self._floors[bisect_left(self._floors, (old.until, n))]
        super().put(n, slot)
        insort(self._floors, (slot.until, n))

    def best_free(self, now: int, guard: int, among: range) -> int | None:
        """The slot with the greatest floor that is not above ``now``; on a tie the lowest slot."""
        if guard > now:
            return None
        place = bisect_right(self._floors, (now, among.stop)) - 1
        if place >= 0 and self._floors[place][0] > guard:
            return self._floors[bisect_left(self._floors, (self._floors[place][0], -1))][1]
        below = self._floors[: place + 1]
        return min([n for _, n in below] + self._untouched(among), default=None)

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        """The slot with the least floor; on a tie one that is not held, then the lowest."""
        untouched = self._untouched(among)
        least = guard if untouched else max(self._floors[0][0], guard)
        level = self._floors[: bisect_right(self._floors, (least, among.stop))]

        def rank(n: int) -> tuple[bool, int]:
            slot = self.get(n)
            return bool(slot.token) and slot.until > now, n

        return min([n for _, n in level] + untouched, key=rank)

    def void_tokens(self) -> None:
        """Remove every token."""
        for n, slot in list(self.items()):
            self[n] = Slot(slot.until, slot.until if slot.token else slot.start)

    def _untouched(self, among: range) -> list[int]:
        """The lowest slot that was never put, if there is one."""
        self._new = max(self._new, among.start)
        while self._new in self:
            self._new += 1
        return [self._new] if self._new in among else []
