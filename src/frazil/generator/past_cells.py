"""The cells of a past region: which of them are used, and which ones rows of any order get.

A row gets the next free cell of its tick. If the tick is full, its cell is in a later tick (it
*spills*), at most ``MOST_SPILL_US`` later. So the used cells of a tick are always its first ones,
and a number for each tick that was used says it all.

The rows of one call keep their order: those of an earlier moment come first, and those of one
moment in the order of the call, also where they spill. With ``free(t)``, the number of free cells
before tick t, that is one formula for all rows: row i gets the free cell with the number
``max(free(t_i), that of row i - 1, plus 1)``, which is a running maximum.

Numbers of used cells are kept in sorted arrays, 16 bytes for each tick that was used. Each array
is at least twice as long as the next one, or all before it, so that few are joined. Those of single
rows are in a dict first.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from frazil.errors import LayoutError, LayoutExhausted
from frazil.system.clock import moment_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from frazil.claims.claim import Claim, Terms

MOST_SPILL_US = 3_600_000_000
"""How much later than its moment an ID may be, because the ticks between are full."""

_CELL_BITS = 62
_FEW = 1 << 16
_BLOCK = 1 << 15


class _Run(NamedTuple):
    """Ticks in order, and how many cells are used before each of them, and before the end."""

    ticks: "NDArray[np.int64]"
    before: "NDArray[np.int64]"

    def meets(self, ticks: Any) -> bool:
        """Whether one of these ticks, which are in order, may have used cells."""
        return bool(ticks[0] <= self.ticks[-1] and self.ticks[0] <= ticks[-1])

    def used_before(self, ticks: Any) -> Any:
        """How many cells are used before each of these ticks."""
        if ticks.max() <= self.ticks[0]:
            return 0
        if ticks.min() > self.ticks[-1]:
            return self.before[-1]
        return self.before[self.ticks.searchsorted(ticks)]


class PastCells:
    """The cells of a claim of the past, of which each is given once. One thread at a time."""

    def __init__(self, claim: "Claim", terms: "Terms", per_tick: int) -> None:
        self._terms, self._start, self._stop = terms, claim.start, claim.until
        ticks = claim.until - claim.start
        self._per_tick = max(1, min(per_tick, (1 << _CELL_BITS) // ticks))
        self._spill = MOST_SPILL_US // terms.tick_us
        # In one value, so that an exception of a signal handler leaves both or none
        self._kept: tuple[tuple[_Run, ...], dict[int, int]] = (), {}
        self._last = -1, -1  # the tick of the last single row, and that of its cell

    def one(self, us: int) -> tuple[int, int]:
        """The tick and the sequence of a row of a moment."""
        tick = self._terms.tick_at(us)
        if not self._start <= tick < self._stop:
            raise self._outside(us)
        at = self._last[1] if self._last[0] == tick else tick
        while (used := self._used(at)) >= self._per_tick:
            at += 1
            self._check_spill(tick, at)
        few = self._kept[1]
        few[at] = few.get(at, 0) + 1
        self._last = tick, at
        if len(few) > _FEW:
            self._fold()
        return at, used

    def many(
        self, us: "NDArray[np.int64]", take: "Callable[[slice, Any, Any], None]"
    ) -> "NDArray[np.intp] | None":
        """Give rows of moments their cells, in blocks that fit a processor's cache.

        take: gets the place of each block, its ticks and its sequences. Returns the rows of these
        places, or None if they are the same. If this raises, cells may be used, but by no row.
        """
        import numpy as np

        self._fold()
        outside = (us < self._us(self._start)) | (us >= self._us(self._stop))
        if outside.any():
            row = int(outside.argmax())
            raise self._outside(int(us[row]), index=row)
        settled = len(self._kept[0])
        order = np.argsort(us, kind="stable") if (us[1:] < us[:-1]).any() else None
        ordered = us if order is None else us[order]
        for low in range(0, len(us), _BLOCK):
            place = slice(low, low + _BLOCK)
            ticks = ordered[place] - self._terms.epoch_us
            ticks //= self._terms.tick_us
            at, sequences = self._placed(ticks)
            firsts, sizes = _groups(at)
            self._kept = (*self._kept[0], _run(at[firsts], sizes)), {}  # before a cell is used
            take(place, at, sequences)
        self._settle(settled)
        return order

    def _placed(self, ticks: Any) -> Any:
        """The cells of rows whose ticks are in order."""
        import numpy as np

        per_tick, rows = self._per_tick, np.arange(len(ticks))
        firsts, sizes = _groups(ticks)
        if (
            len(ticks)
            and not any(run.meets(ticks) for run in self._kept[0])
            and sizes.max() <= per_tick
        ):
            return ticks, rows - np.repeat(firsts, sizes)
        before = self._used_before(ticks)
        used = self._used_before(ticks + 1) - before
        free = (ticks - self._start) * per_tick - before
        # A row's place among the free cells, counted from the first one of its tick
        place = np.maximum.accumulate(free - rows) + rows - free
        place += used
        if place.max() < per_tick:
            return ticks, place
        at = ticks + place // per_tick
        sequences = place % per_tick
        spilled = np.flatnonzero(at > ticks)
        # Right if nothing was used in the ticks between; else look for the tick
        passed = self._used_before(at[spilled] + 1) - self._used_before(ticks[spilled] + 1)
        if np.any(passed):
            wanted = (free + place - used)[spilled]
            at[spilled], sequences[spilled] = self._found(ticks[spilled], wanted)
        worst = int((at - ticks).argmax())
        self._check_spill(int(ticks[worst]), int(at[worst]))
        self._check_spill(int(ticks[-1]), int(at[-1]))
        return at, sequences

    def _found(self, low: Any, wanted: Any) -> Any:
        """The cells of free ones by their numbers, none of which is before tick ``low``."""
        import numpy as np

        def free(ticks: Any) -> Any:
            return (ticks - self._start) * self._per_tick - self._used_before(ticks)

        high = low + self._spill + 2
        while (high - low > 1).any():
            middle = (low + high) // 2
            reached = free(middle) <= wanted
            low, high = np.where(reached, middle, low), np.where(reached, high, middle)
        used = self._used_before(low + 1) - self._used_before(low)
        return low, wanted - free(low) + used

    def _used_before(self, ticks: Any) -> Any:
        return sum(run.used_before(ticks) for run in self._kept[0])

    def _used(self, tick: int) -> int:
        """How many cells of a tick are used."""
        used = self._kept[1].get(tick, 0)
        for run in self._kept[0]:
            i = int(run.ticks.searchsorted(tick))
            if i < len(run.ticks) and run.ticks[i] == tick:
                used += int(run.before[i + 1] - run.before[i])
        return used

    def _fold(self) -> None:
        """Move the numbers of single rows into an array, if numpy is installed."""
        try:
            import numpy as np
        except ImportError:
            return
        if few := self._kept[1]:
            ticks = np.array(sorted(few), np.int64)
            counts = np.array([few[tick] for tick in ticks.tolist()], np.int64)
            runs = self._kept[0]
            self._kept = (*runs, _run(ticks, counts)), {}
            self._settle(len(runs))

    def _settle(self, settled: int) -> None:
        """Join the runs after the first ``settled`` ones, and with those what is as short."""
        runs = list(self._kept[0])
        if settled < len(runs):
            runs[settled:] = [_joined(runs[settled:])]
        while len(runs) > 1:
            first, second = runs[-2:]
            behind = first.ticks[-1] < second.ticks[0]
            if len(first.ticks) >= (_BLOCK if behind else 2 * len(second.ticks)):
                break
            runs[-2:] = [_joined(runs[-2:])]
        self._kept = tuple(runs), self._kept[1]

    def _us(self, tick: int) -> int:
        return self._terms.us_at(tick)

    def _check_spill(self, tick: int, at: int) -> None:
        """Raise LayoutExhausted if the cell of a row is too late."""
        if at < self._stop and at - tick <= self._spill:
            return
        end = min(self._stop, tick + self._spill)
        raise LayoutExhausted(
            f"the ticks from {moment_text(self._us(tick))} to {moment_text(self._us(end))} are "
            f"full: this job has {self._per_tick} IDs for each, and a row's ID is at most an hour "
            "later than its moment; claim another region with frazil.history for the rest",
            limit=end,
        )

    def _outside(self, us: int, **where: int) -> LayoutError:
        limit = self._us(self._start), self._us(self._stop)
        place = f"element {where['index']}: " if where else ""
        return LayoutError(
            f"{place}{moment_text(us)} is outside of this history, which begins at "
            f"{moment_text(limit[0])} and ends before {moment_text(limit[1])}; the past begins "
            "where it was declared (frazil claims URL --declare-past-from) and ends now, and a "
            "history between its start= and stop=",
            **where,
            field="time",
            value=us,
            limit=limit,
        )


def _run(ticks: Any, counts: Any) -> _Run:
    import numpy as np

    before = np.zeros(len(ticks) + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    return _Run(ticks, before)


def _joined(runs: "list[_Run]") -> _Run:
    """Runs as one."""
    import numpy as np

    if len(runs) == 1:
        return runs[0]
    ticks = np.concatenate([run.ticks for run in runs])
    counts = np.concatenate([np.diff(run.before) for run in runs])
    if (ticks[1:] > ticks[:-1]).all():
        return _run(ticks, counts)
    order = np.argsort(ticks, kind="stable")
    firsts, _ = _groups(ticks[order])
    return _run(ticks[order][firsts], np.add.reduceat(counts[order], firsts))


def _groups(ticks: Any) -> Any:
    """The index of the first of equal ticks, which are in order, and how many they are."""
    import numpy as np

    firsts = np.flatnonzero(np.concatenate(([True], ticks[1:] != ticks[:-1])))
    return firsts, np.diff(firsts, append=len(ticks))
