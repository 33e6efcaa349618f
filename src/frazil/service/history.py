"""What happened since a start: counts in parts of equal length, never more than 64 of them.

When all parts are full, each two become one, twice as long. So a history needs the same memory
after a minute and after a year, and the histories of workers that have one start can be added.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["PARTS_MOST", "History", "total"]

PARTS_MOST = 64
_FIRST_PART_S = 2


@dataclass(slots=True)
class History:
    """Counts by name, oldest part first; part_s is the length of a part."""

    part_s: int = _FIRST_PART_S
    rows: dict[str, list[int]] = field(default_factory=dict)

    def add(self, age_s: float, counts: Mapping[str, int]) -> None:
        """Add what was counted at an age of the start; ages only grow."""
        while age_s >= self.part_s * PARTS_MOST:
            for name, row in self.rows.items():
                self.rows[name] = [sum(row[i : i + 2]) for i in range(0, len(row), 2)]
            self.part_s *= 2
        at = int(age_s // self.part_s)
        for name, n in counts.items():
            row = self.rows.setdefault(name, [])
            row.extend([0] * (at + 1 - len(row)))
            row[at] += n


def total(histories: Iterable[History], age_s: float) -> History:
    """The sum of histories of one start, at its present age."""
    found = History()
    found.add(age_s, {})
    for one in histories:
        copy = History(one.part_s, dict(one.rows))
        copy.add(age_s, {})
        for name, row in copy.rows.items():
            sums = found.rows.setdefault(name, [0] * (int(age_s // found.part_s) + 1))
            for at, n in enumerate(row[: len(sums)]):
                sums[at] += n
    return found
