"""The interpreted walk: each step of ``walk`` is atomic, as the compiler makes it.

In interpreted code another thread may run between any two lines of a step. So may a signal handler
or a finalizer, in the thread that is inside the step. It may ask for an ID, raise an exception
through the step, or fork. A lock does not help: a handler that waits for the lock of its own thread
waits forever, and a lock does not undo the half of a step before an exception.

So there is no lock, and a step changes nothing that others see. It works on a *draft*, a copy of
the walk's current *stage*. At its end it links the draft to that stage with one call of
``dict.setdefault``, which the interpreter does not interrupt, and which succeeds for one draft
only. Then the draft is the current stage. A step that comes second drops its draft and begins again
from the new stage. A step that an exception ends has changed nothing.

A stage's cells are an *iterator* over a range, which yields each cell once, to any caller, also in
one uninterrupted call. Each stage is the previous one after a whole step of ``walk``, so the
iterators of all linked stages have no cell in common, and a late caller may draw from an old stage.
Nothing draws from a draft. A cell that is drawn and then dropped, by an exception or by a step that
came second, is wasted and never repeated.

Without the interpreter's lock (GIL) two threads may get one value from an iterator over a range.
There ``_Cells`` takes its place: each cell is removed from a list with ``list.pop``, which only one
thread does at a time. So is ``dict.setdefault``. A fork waits until no thread is inside of either.

The everyday call reads one tuple (the current stage, the end of its tick, its cells, ...), draws,
and then checks that this is still the same process. If two threads wrote the tuple one after the
other, it may be that of an older stage. Then a later stage is linked to it, and the call takes the
slow path, which corrects the tuple.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from frazil.walk.walk import Pause, Walk

if TYPE_CHECKING:
    from frazil.system.process import PureIdentity

Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])

# The values that an everyday call reads, as a tuple because that is fastest to unpack: the clock;
# the identity's two words, each with its value in this process; the end of the tick; the cells (in
# a plain layout, the IDs themselves); the later stage; the stage.
FastPath: TypeAlias = (
    "tuple[Callable[[], int], memoryview, int, memoryview, int, int, Iterator[int], "
    "dict[str, _Stage], _Stage]"
)

_NEXT = "next"
_BLOCK = 1024  # cells in a list at the same time
_MOST_PASSED = 4096  # cells that are drawn to pass them over

# The build, since the lock is off and on again while modules are imported
FREE_THREADED = "free-threading" in sys.version


class _Cells:
    """An iterator that yields each cell once, also to threads that run at the same time.

    The cells are in blocks, by number. Every thread would make the same block, and the first one
    stays. There is no next block before the last one is empty, and an empty one stays empty.
    """

    def __init__(self, cells: range, identity: "PureIdentity") -> None:
        self._cells = cells
        self._identity = identity
        self._blocks = {0: self._block(0)}

    def _block(self, number: int) -> list[int]:
        return list(self._cells[number * _BLOCK : (number + 1) * _BLOCK][::-1])

    def __iter__(self) -> "_Cells":
        return self

    def __next__(self) -> int:
        # In a child, a thread of its parent may have waited for the lock of the list, and have it.
        while self._identity.mine:
            last = len(self._blocks) - 1
            try:
                return self._blocks[last].pop()
            except IndexError:
                if (last + 1) * _BLOCK >= len(self._cells):
                    break
                self._blocks.setdefault(last + 1, self._block(last + 1))
        raise StopIteration

    def __length_hint__(self) -> int:
        last = len(self._blocks) - 1
        return len(self._blocks[last]) + max(len(self._cells) - (last + 1) * _BLOCK, 0)


class _Stage(Walk):
    """A walk after a step. Once it is linked, nothing in it changes, but cells are drawn.

    undrawn: the cells left of the tick, row or stretch. later: the next stage.
    """

    def __init__(self, *arguments: Any) -> None:
        self.undrawn: Iterator[int] = iter(())
        self.later: dict[str, _Stage] = {}
        super().__init__(*arguments)

    def draft(self) -> "_Stage":
        """A copy for a step to work on."""
        draft = object.__new__(_Stage)
        vars(draft).update(vars(self))
        draft.later = {}
        draft.count_drawn()
        return draft

    def count_drawn(self) -> None:
        """Move the cursor to the first cell that is not drawn."""
        self.cell = self.end_cell - length_hint(self.undrawn)

    def stretch(self, first: int, end: int) -> None:
        self.count_drawn()
        super().stretch(first, end)
        cells = range(first, end)
        if self.plain:
            low, shift = self.low, self.shift
            cells = range(low + (first << shift), low + (end << shift), 1 << shift)
        self.undrawn = _Cells(cells, self.identity) if FREE_THREADED else iter(cells)

    def advance(self, tick: int, cell: int, node: int) -> int:
        """See Walk. Draws the cells of this tick that it passes over, so that no other caller does.

        If they are many, the next tick is entered.
        """
        wait_ns = self.ready()
        if wait_ns or self.tick != tick or node != self.node or self.cell >= cell:
            return super().advance(tick, cell, node)
        passed = min(cell, self.cells) - self.cell
        if passed > _MOST_PASSED or cell >= self.cells:
            return super().advance(tick, self.cells, node)
        deque(islice(self.undrawn, passed), 0)
        self.counted += passed
        self.count_drawn()
        return 0

    def leave(self, era: int = 0) -> int:
        """See Walk. Draws the rest of a counter's row, so that no other caller does."""
        if self.counting and not self.fresh:
            self.cell = self.end_cell - len(list(self.undrawn))
        return super().leave(era)

    def draw_up_to(self, most: int) -> list[int]:
        """Up to ``most`` IDs of the cells left."""
        cells = list(islice(self.undrawn, most))
        if self.plain:
            return cells
        return [self.scatter(self.low, self.high, cell) for cell in cells]

    def fast_path(self) -> FastPath:
        """The parts of this stage that an everyday call reads."""
        identity: PureIdentity = self.identity
        same_process = identity.word, identity.era, identity.vm_word, identity.vm_seen
        return identity.now_ns, *same_process, self.tick_end_ns, self.undrawn, self.later, self


def _in_one_step(method: Method) -> Method:
    """A method of Walk as one step of an AtomicWalk."""

    @wraps(method)
    def step(self: "AtomicWalk", *arguments: Any) -> Any:
        return self._step(lambda draft: getattr(draft, method.__name__)(*arguments))[0]

    return cast("Method", step)


class AtomicWalk(Walk):
    """A Walk whose steps are atomic for threads, signal handlers, finalizers and exceptions.

    Its attributes are those of its current stage. shown: one fast path, in a list because callers
    hold the list and read it faster than an attribute of this object.
    """

    def __init__(self, *arguments: Any) -> None:
        stage = _Stage(*arguments)
        self.plain, self.wide = stage.plain, stage.wide
        self.shown = [stage.fast_path()]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "shown":
                raise AttributeError("this walk was never made")
            return getattr(self._stage(), name)

    @property
    def identity(self) -> "PureIdentity":
        return self._stage().identity

    @identity.setter
    def identity(self, identity: "PureIdentity") -> None:
        def change(draft: _Stage) -> None:
            draft.identity = identity

        self._step(change)

    def __call__(self) -> int:
        return AtomicCaller(self)()

    def poll(self) -> int | Pause:
        ids, wait_ns = self._take(1)
        return ids[0] if ids else Pause(wait_ns)

    def pause_ns(self) -> int:
        return self._step(_Stage.ready)[0]

    def take_ready(self, count: int) -> list[int]:
        return self._take(count)[0]

    def fill(self, out: Any, at: int) -> int:
        size = len(out) // 2 if self.wide else len(out)
        ids, _ = self._take(size - at)
        if self.wide:
            out[2 * at : 2 * (at + len(ids)) : 2] = [n >> 64 for n in ids]
            out[2 * at + 1 : 2 * (at + len(ids)) : 2] = [n & 0xFFFFFFFFFFFFFFFF for n in ids]
        else:
            out[at : at + len(ids)] = ids
        return at + len(ids)

    advance = _in_one_step(Walk.advance)
    adopt = _in_one_step(Walk.adopt)
    queue = _in_one_step(Walk.queue)
    prolong = _in_one_step(Walk.prolong)
    restart = _in_one_step(Walk.restart)
    leave = _in_one_step(Walk.leave)
    finish = _in_one_step(Walk.finish)

    def left(self) -> int:
        return self._stage().draft().left()

    def made(self) -> int:
        return self._stage().draft().made()

    def reach(self) -> int:
        return self._stage().reach()

    def begun(self) -> bool:
        return self._stage().begun()

    def due_now(self) -> int:
        return self._stage().due_now()

    def _take(self, n: int) -> tuple[list[int], int]:
        """Up to ``n`` IDs; and if there are fewer, the reason (see ``Walk.ready``)."""
        ids: list[int] = []
        wait_ns = 0
        while len(ids) < n:
            wait_ns, stage = self._step(_Stage.ready)
            if wait_ns:
                break
            ids += stage.draw_up_to(n - len(ids))
        return ids, wait_ns

    def _stage(self) -> _Stage:
        """The current stage: the last one of the chain."""
        stage = self.shown[0][-1]
        while stage.later:
            stage = stage.later[_NEXT]
        return stage

    def _step(self, do: Callable[[_Stage], Answer]) -> tuple[Answer, _Stage]:
        """Do a whole step or nothing of it; the answer, and the stage after it."""
        while True:
            stage = self._stage()
            draft = stage.draft()
            answer = do(draft)
            if stage.later.setdefault(_NEXT, draft) is draft:
                self.shown[0] = draft.fast_path()
                return answer, draft


class AtomicCaller:
    """See ``walk.Caller``."""

    def __init__(self, walk: AtomicWalk) -> None:
        self._walk = walk
        self._shown = walk.shown
        self._plain = walk.plain

    def __call__(self) -> int:
        now_ns, word, era, vm_word, vm_seen, ends_ns, ready, later, stage = self._shown[0]
        if not later and now_ns() < ends_ns:
            for cell in ready:  # only the first one; a loop is the fastest way to get it
                n = cell if self._plain else stage.scatter(stage.low, stage.high, cell)
                if word[0] != era or vm_word[0] != vm_seen:
                    break
                return n
        return self._walk.stalled()

    __next__ = __call__

    def after(self, *seen: object, trusted: bool = True) -> int:
        """See ``frazil.Generator``."""
        walk = self._walk
        if walk.rising and len(seen) == 1 and type(seen[0]) is int and seen[0] >= 0:
            identity = walk.identity
            n = self()
            if n > seen[0] and identity.mine:  # a handler may have forked after the call
                return n
        return walk.stalled_after(seen, trusted)
