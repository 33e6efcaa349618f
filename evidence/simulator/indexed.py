"""The slots of a record with an index, for fleets of a hundred thousand members.

The tables of ``frazil.claims`` look at every slot to choose one, which a store does in C, and which
takes hours here. This chooses from a sorted list; a test compares the choices.
"""

from bisect import bisect_left, bisect_right, insort
from itertools import takewhile

from frazil.claims.slots import UNTOUCHED, Slot, SlotTable

__all__ = ["IndexedSlots"]


class IndexedSlots(SlotTable):
    """See ``frazil.claims.slots.Slots``. All slots of a record must be asked for ``among``."""

    def __init__(self) -> None:
        super().__init__()
        # (until, number) of each slot that was put: without a token, and with one
        self._floors: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []
        self._new = 0  # no slot below it is untouched

    def put(self, n: int, slot: Slot) -> None:
        """Store slot number n."""
        old = super().get(n)
        if old is not UNTOUCHED:
            floors = self._floors[bool(old.token)]
            del floors[bisect_left(floors, (old.until, n))]
        super().put(n, slot)
        insort(self._floors[bool(slot.token)], (slot.until, n))

    def best_free(self, now: int, guard: int, among: range, late_from: int) -> int | None:
        """See ``Slots``."""
        if guard > now:
            return None
        given_back, held = self._floors
        ends = [(given_back, now), (held, min(now, late_from))]
        found = [_last(floors, at) for floors, at in ends]
        most = max((until for until, _ in found), default=-1)
        if most > guard:
            return min(n for until, n in found if until == most)
        old = [n for floors in self._floors for _, n in takewhile(lambda f: f[0] <= guard, floors)]
        old += self._untouched(among)
        if old:
            return min(old)
        place = bisect_right(held, (max(guard, late_from), among.stop))
        return held[place][1] if place < len(held) and held[place][0] <= now else None

    def lowest_floor(self, now: int, guard: int, among: range) -> int:
        """The slot with the least floor; on a tie one that is not held, then the lowest."""
        untouched = self._untouched(among)
        firsts = [floors[0][0] for floors in self._floors if floors]
        least = guard if untouched else max(min(firsts), guard)
        level = [
            each for floors in self._floors for each in takewhile(lambda f: f[0] <= least, floors)
        ]

        def rank(n: int) -> tuple[bool, int]:
            slot = self.get(n)
            return bool(slot.token) and slot.until > now, n

        return min([n for _, n in level] + untouched, key=rank)

    def void_tokens(self) -> None:
        """Remove every token."""
        for n, slot in list(self.items()):
            self.put(n, Slot(slot.until, slot.until if slot.token else slot.start))

    def _untouched(self, among: range) -> list[int]:
        """The lowest slot that was never put, if there is one."""
        self._new = max(self._new, among.start)
        while self._new in self:
            self._new += 1
        return [self._new] if self._new in among else []


def _last(floors: list[tuple[int, int]], at: int) -> tuple[int, int]:
    """Of the floors up to ``at`` the greatest, and its lowest slot; -1 if there is none."""
    place = bisect_right(floors, (at + 1, -1)) - 1
    return floors[bisect_left(floors, (floors[place][0], -1))] if place >= 0 else (-1, -1)
