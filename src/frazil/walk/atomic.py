"""The interpreted walk's guard: makes each step of ``walk`` atomic where the compiler does not.

Interpreted, another thread may run between any two lines of a step. So may a signal handler or a
finalizer, in the thread that is inside the step, and it may do three things: ask for an ID, raise
an exception through the step, or fork. A lock helps against the first of these only: a handler
that waits for its own thread's lock waits for ever, and a lock does not undo the half of a step
that ran before an exception.

So there is no lock, and no step changes what others can see. A step works on a *draft*, a copy of
the walk's present *stage*, and at its end links the draft behind that stage: one call of
``dict.setdefault``, which the interpreter does not interrupt, and which succeeds for one draft
only. From then on the draft is the present stage. A step that comes second drops its draft and
begins again from the new stage. A step that an exception ends has changed nothing.

A stage's cells are an *iterator* over a range, which hands out every cell once, whoever calls: one
call again. Each stage is the stage before it after one whole step of ``walk``, so the iterators of
all linked stages have no cell in common, and what a late caller draws from an old one is nobody
else's. Nothing is drawn from a draft. Cells that are drawn and then dropped, by an exception or by
a step that came second, are wasted and never repeated.

The everyday call reads one tuple (the present stage, when its tick ends, its cells, ...), draws,
and then asks whether this is still the same process. The tuple may be an older stage's, where two
threads wrote it one after the other; then there is a later one linked to it, and the call goes the
long way, which sets it right.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from frazil.walk.walk import Pause, Walk

if TYPE_CHECKING:
    from frazil.system.process import PureIdentity

__all__ = ["AtomicCaller", "AtomicWalk"]

Answer = TypeVar("Answer")

# What an everyday call reads, as a bare tuple because unpacking that is fastest: the clock, the
# identity's two words and what they show as long as this is the same process; when the tick ends;
# the cells (in a plain layout they are the IDs themselves); what is linked behind the stage; the
# stage.
Turn: TypeAlias = (
    "tuple[Callable[[], int], memoryview, int, memoryview, int, int, Iterator[int], "
    "dict[str, _Stage], _Stage]"
)

_NEXT = "next"


class _Stage(Walk):
    """A walk as a step left it. Once linked nothing of it changes, but that cells are drawn.

    undrawn: the cells left of the tick, row or stretch. later: the stage after this one.
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
        """Move the cursor to where the cells were drawn to."""
        self.sequence = self.sequences - length_hint(self.undrawn)

    def stretch(self, first: int, end: int) -> None:
        """See Walk. The only place where there come to be cells to draw."""
        self.count_drawn()
        super().stretch(first, end)
        if self.plain:
            low, shift = self.low, self.shift
            self.undrawn = iter(range(low + (first << shift), low + (end << shift), 1 << shift))
        else:
            self.undrawn = iter(range(first, end))

    def leave(self, era: int = 0) -> int:
        """See Walk. What is left of a counter's row is drawn, so that nobody else draws it."""
        if self.counting and not self.fresh:
            self.sequence = self.sequences - len(list(self.undrawn))
        return super().leave(era)

    def drawn(self, most: int) -> list[int]:
        """Up to so many IDs of the cells that are left."""
        cells = list(islice(self.undrawn, most))
        if self.plain:
            return cells
        return [self.scatter(self.low, self.high, cell) for cell in cells]

    def as_turn(self) -> Turn:
        """What an everyday call has to know of this stage."""
        identity: PureIdentity = self.identity
        clock, ends_ns = identity.now_ns, self.turn_ns
        word, era, vm_word, vm_seen = (
            identity.word,
            identity.era,
            identity.vm_word,
            identity.vm_seen,
        )
        return clock, word, era, vm_word, vm_seen, ends_ns, self.undrawn, self.later, self


class AtomicWalk(Walk):
    """A Walk whose steps are atomic for threads, signal handlers, finalizers and exceptions.

    Its attributes are those of its present stage. shown: what an everyday call reads of it.
    """

    def __init__(self, *arguments: Any) -> None:
        stage = _Stage(*arguments)
        self.plain, self.wide = stage.plain, stage.wide
        self.shown = stage.as_turn()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "shown":
                raise AttributeError("this walk was never made")
            return getattr(self._stage(), name)

    @property
    def identity(self) -> "PureIdentity":
        """The life that this walk is of."""
        return self._stage().identity

    @identity.setter
    def identity(self, identity: "PureIdentity") -> None:
        def change(draft: _Stage) -> None:
            draft.identity = identity

        self._step(change)

    def __call__(self) -> int:
        """See Walk."""
        return AtomicCaller(self)()

    def poll(self) -> int | Pause:
        """See Walk."""
        ids, wait_ns = self._take(1)
        return ids[0] if ids else Pause(wait_ns)

    def pause_ns(self) -> int:
        """See Walk. May say that there is an ID when the tick's last one has just been drawn."""
        return self._step(_Stage.ready)[0]

    def take_ready(self, count: int) -> list[int]:
        """See Walk."""
        return self._take(count)[0]

    def fill(self, out: Any, at: int) -> int:
        """See Walk."""
        size = len(out) // 2 if self.wide else len(out)
        ids, _ = self._take(size - at)
        if self.wide:
            out[2 * at : 2 * (at + len(ids)) : 2] = [n >> 64 for n in ids]
            out[2 * at + 1 : 2 * (at + len(ids)) : 2] = [n & 0xFFFFFFFFFFFFFFFF for n in ids]
        else:
            out[at : at + len(ids)] = ids
        return at + len(ids)

    def adopt(self, *arguments: int) -> None:
        """See Walk."""
        self._step(lambda draft: draft.adopt(*arguments))

    def queue(self, *arguments: int) -> None:
        """See Walk."""
        self._step(lambda draft: draft.queue(*arguments))

    def prolong(self, *arguments: int) -> None:
        """See Walk."""
        self._step(lambda draft: draft.prolong(*arguments))

    def rise(self, identity: "PureIdentity") -> None:
        """See Walk."""
        self._step(lambda draft: draft.rise(identity))

    def leave(self, era: int = 0) -> int:
        """See Walk."""
        return self._step(lambda draft: draft.leave(era))[0]

    def finish(self) -> int:
        """See Walk."""
        return self._step(_Stage.finish)[0]

    def forget(self) -> None:
        """See Walk."""
        self._step(_Stage.forget)

    def left(self) -> int:
        """See Walk."""
        return self._stage().draft().left()

    def reach(self) -> int:
        """See Walk."""
        return self._stage().reach()

    def begun(self) -> bool:
        """See Walk."""
        return self._stage().begun()

    def due(self, now_ns: int) -> int:
        """See Walk."""
        return self._stage().due(now_ns)

    def _take(self, n: int) -> tuple[list[int], int]:
        """Up to so many IDs; and where that is fewer, why."""
        ids: list[int] = []
        wait_ns = 0
        while len(ids) < n:
            wait_ns, stage = self._step(_Stage.ready)
            if wait_ns:
                break
            ids += stage.drawn(n - len(ids))
        return ids, wait_ns

    def _stage(self) -> _Stage:
        """The present stage: the last one of the chain."""
        stage = self.shown[-1]
        while stage.later:
            stage = stage.later[_NEXT]
        return stage

    def _step(self, do: Callable[[_Stage], Answer]) -> tuple[Answer, _Stage]:
        """Do something to the walk, wholly or not at all; the answer, and the stage after it."""
        while True:
            stage = self._stage()
            draft = stage.draft()
            answer = do(draft)
            if stage.later.setdefault(_NEXT, draft) is draft:
                self.shown = draft.as_turn()
                return answer, draft


class AtomicCaller:
    """See ``walk.Caller``."""

    def __init__(self, walk: AtomicWalk) -> None:
        self._walk = walk

    def __call__(self) -> int:
        """See Caller."""
        walk = self._walk
        now_ns, word, era, vm_word, vm_seen, ends_ns, ready, later, stage = walk.shown
        if not later and now_ns() < ends_ns:
            for cell in ready:  # the first one; a loop is the fastest way to ask for it
                n = cell if walk.plain else stage.scatter(stage.low, stage.high, cell)
                if word[0] != era or vm_word[0] != vm_seen:
                    break
                return n
        return walk.stalled()

    __next__ = __call__
