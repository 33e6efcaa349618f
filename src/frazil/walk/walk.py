# cython: language_level=3, infer_types=True, boundscheck=False, wraparound=False, cdivision=True
# cython: annotation_typing=False, freethreading_compatible=True, auto_pickle=False
"""The walk: a generator visits the cells of its claim in order, one ID per cell, none twice.

A claim is a slot (a node number) and a half-open interval of ticks. Its cells are the pairs
(tick, sequence). The walk visits them in increasing order. No other walk visits them, because the
claim has one holder. That is the second of the two sentences that make IDs unique, and only this
file is responsible for it; ``record`` is for the first, "no two claims overlap".

The obvious walk reads the wall clock, resets the sequence when the millisecond has changed, and
waits when it has not. It repeats cells when the clock steps back, when the code has ``==`` instead
of ``<=``, when two processes walk one claim, and when two threads run between its reads and writes.
Here no cell depends on a correct clock:

- The *cursor* (tick, sequence) only moves forward, by comparison with itself.
- The clock only says which tick is *due*. It is the registry's ``now`` at the last verb, continued
  with the boot clock. If the due tick is before the cursor's, the cursor stays.
- The walk does not enter a tick at or past ``until``: the claim is spent.
- When the tick's cells are used up, the walk enters the next tick early if it is at most ``lead``
  ahead of the due one (it is inside the claim); otherwise the answer is a time to wait.

So ``poll`` has three results: an ID, a wait, or "no claim" (spent, closed, or lost by a fork). It
never sleeps and does no I/O. The caller decides what to do about a wait and a missing claim.

**Without a clock** (counters, run numbers, minted IDs) every cell of the claim is due at once. This
leaves no time to fetch the next claim, so one may be *queued* before this one is spent. The walk is
``wanting`` when half of its claim is used and nothing is queued. It divides its cells into
stretches, which end where it must check this. A counter has one cell per axis value; for speed, the
walk takes rows of values, whose lowest bits are the cells.

**Cost.** To pack each ID bit by bit would cost more than everything else. Every field is scattered
linearly: each bit of a value has one bit of the ID, also if the layout reverses the time, cuts a
field in pieces or shuffles the bits. So a tick's part of the ID changes by XOR with the places of
the bits that differ from the last tick, about two for a step of one. Within a tick an ID is
``base + (sequence << shift)``; if the sequence is scattered, the previous ID XOR a table's word.

**Atomic steps.** Compiled (``walk.pxd`` gives C types), no other thread and no signal handler runs
between the lines of a step, because a step runs no Python code before it marks its cells as taken.
Nor does any step multiply Python integers of more than 30 bits: Python runs signal handlers inside
such a product, and one could fork between the check of the process and the ID. The interpreter's
lock (GIL) keeps other threads out. Without a GIL ``one_step`` and ``locked`` are a critical section
of the walk, which opens where a step waits or begins a second one of the same walk. So no step
calls another one, or what a subclass in Python may replace. The interpreted walk has no such
guarantee; ``atomic`` does each of its steps on a copy.

Units: ticks count from the layout's epoch and are below 2^62, ``_ns`` are boot-clock nanoseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate

from frazil.errors import InternalError

COMPILED = not __file__.endswith(".py")
"""Whether the walk in use is the compiled one."""

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from frazil.system import process

    Words = array[int] | memoryview[int]
if TYPE_CHECKING or not COMPILED:
    from frazil.walk import locked, one_step
else:  # pragma: no cover - the compiler's; with a GIL it makes nothing of them
    from cython import critical_section as locked
    from cython import critical_section as one_step

SPENT = -1
CLOSED = -2
FORKED = -3

_NEVER_NS = 0x3FFF_FFFF_FFFF_FFFF

_MULTIPLIER = 0x5DEE_CE66D  # of drand48, with which the random first cells are made
_MASK = 0xFFFF_FFFF_FFFF


class Pause:
    """The reason for no ID now. ``wait_ns``: nanoseconds to wait, or SPENT, CLOSED or FORKED."""

    def __init__(self, wait_ns: int) -> None:
        self.wait_ns = wait_ns

    def __repr__(self) -> str:
        names = {SPENT: "spent", CLOSED: "closed", FORKED: "forked"}
        return f"<Pause {names.get(self.wait_ns, f'{self.wait_ns} ns')}>"


def trailing_ones(cell: int) -> int:
    """The number of trailing ones."""
    ones = 0
    while cell & 1:
        cell >>= 1
        ones += 1
    return ones


def spread(word: int, value: int, places: Words) -> int:
    """A word with the places of the bits in ``value`` flipped."""
    bit = 0
    while value:
        if value & 1:
            word ^= places[bit]
        value >>= 1
        bit += 1
    return word


def joined(high: int, low: int) -> int:
    """The ID of two words; without a product, in which a signal handler could run."""
    whole = high
    return whole << 64 | low


def _halves(places: list[int]) -> tuple[array[int], array[int]]:
    """Places in an ID as words, for its bits 0-63 and 64-127."""
    mask = (1 << 64) - 1
    return array("Q", [p & mask for p in places]), array("Q", [p >> 64 for p in places])


class Walk:
    """One generator's cursor. ``poll`` is the whole walk; the other methods make it fast.

    bits: width of the ID. axis, node, sequence: for each bit of that value, least significant
    first, its position in the ID; if the sequence is the axis, ``sequence`` has only its lowest
    bits, those of a row. constant: the fixed fields, in place. tick_ns: length of a tick, 0 for a
    walk without a clock. lead_ns: how far ahead of the due tick the cursor may go. seed: begin each
    tick at a random sequence, for consumers that use ``id % n``; None begins at 0.
    """

    def __init__(
        self,
        identity: process.ProcessIdentity,
        bits: int,
        axis: Sequence[int],
        node: Sequence[int],
        sequence: Sequence[int],
        constant: int,
        tick_ns: int,
        lead_ns: int,
        seed: int | None,
    ) -> None:
        self.identity = identity
        self.wide, self.word = bits > 64, 1 << 64
        self.axis_low, self.axis_high = _halves([1 << position for position in axis])
        self.node_low, self.node_high = _halves([1 << position for position in node])
        places = [1 << position for position in sequence]
        self.sequence_low, self.sequence_high = _halves(places)
        # Adding one to a cell flips its trailing ones and the zero above them; after the last, none
        self.step_low, self.step_high = _halves([*accumulate(places), 0])
        self.axis_bits = min(len(axis), 62)
        self.constant_low = constant & ((1 << 64) - 1)
        self.constant_high = constant >> 64
        self.cells = self.word >> (64 - len(sequence))  # in C, a 1 to be shifted has 32 bits
        self.last_node = (self.word >> (64 - min(len(node), 64))) - 1
        self.counting = len(sequence) > 0 and axis[0] == sequence[0]
        self.shift = sequence[0] if len(sequence) else 0
        run = list(range(self.shift, self.shift + len(sequence)))
        self.shifted = list(sequence) == run and max(run, default=0) < 64
        self.plain = self.shifted and not self.wide
        self.rising = False
        self.tick_ns = tick_ns
        self.lead_ticks = lead_ns // tick_ns if tick_ns else 0
        self.scattered_start = seed is not None
        self.random_state = seed or 0
        self.tick = -1
        self.low = self.high = self.here_low = self.here_high = self.placed = 0
        self.node = self.start = self.until = self.mark = self.mark_cell = 0
        self.next_node = self.next_start = self.next_until = 0
        self.anchor_tick = self.anchor_ns = self.tick_end_ns = 0
        self.wanting = self.queued = self.closed = self.held = False
        self.fresh = True
        self.issued = 0
        self.counted = self.cell = self.end_cell = self.cells

    def __call__(self) -> int:
        """The next ID; ``stalled`` waits for it."""
        return next_of(self)

    def stalled(self) -> int:
        """The answer of ``__call__`` when no ID is ready. The bare walk does not wait."""
        return self.poll()  # type: ignore[return-value]

    @one_step
    def poll(self) -> int | Pause:
        """An ID, or a Pause."""
        wait_ns = self.ready()
        if wait_ns == 0:
            return self.draw()
        return Pause(wait_ns)

    def stalled_after(self, seen: tuple[object, ...], trusted: bool) -> int:  # noqa: FBT001
        """The answer of ``Caller.after`` if a comparison is not enough. The bare walk has none."""
        raise InternalError(f"the bare walk cannot read {seen}, trusted={trusted}")

    @one_step
    def pause_ns(self) -> int:
        """Why there is no ID now: nanoseconds to wait, or SPENT, CLOSED, FORKED; 0 if there is."""
        return self.ready()

    @one_step
    def due_now(self) -> int:
        """The tick that the registry's clock is in now, by the last reading and the boot clock."""
        return self.due(self.identity.now_ns())

    def due(self, now_ns: int) -> int:
        """The same when the boot clock reads ``now_ns``."""
        if now_ns < self.anchor_ns:
            return self.anchor_tick
        return self.anchor_tick + (now_ns - self.anchor_ns) // self.tick_ns

    def ready(self) -> int:
        """Move the cursor to a free cell: 0, or nanoseconds to wait, or SPENT, CLOSED, FORKED."""
        if not self.identity.intact():
            return FORKED
        if self.closed:
            return CLOSED
        if not self.held:
            return SPENT
        if self.tick_ns == 0:
            return 0 if self.cell < self.end_cell else self.proceed()
        tick = self.tick
        now_ns = self.identity.now_ns()
        due = self.due(now_ns)
        if due > tick:
            tick = due
        elif self.cell < self.end_cell:
            return 0
        else:
            tick += 1
            if due + self.lead_ticks < tick < self.until:
                ahead = tick - self.lead_ticks - self.anchor_tick
                return self.anchor_ns + ahead * self.tick_ns - now_ns
        if tick >= self.until:
            return SPENT
        self.enter(tick)
        return 0

    @one_step
    def advance(self, tick: int, cell: int, node: int) -> int:
        """Move the cursor forward to ``cell`` of ``tick``, unless it is past that.

        Returns 0 if there is a free cell at or after it; else a wait or a reason, as ``ready``. A
        tick that is further ahead than the lead is waited for, so the cursor does not go there,
        where every caller would have to wait. If the claim ends before the tick, it is spent.
        A cell after the tick's last one is the first of the next tick, and so is every cell of a
        claim of another node than ``node``. Only with a clock.
        """
        wait_ns = self.ready()
        if wait_ns or self.tick > tick:
            return wait_ns
        if cell >= self.cells or node != self.node:
            tick, cell = tick + 1, 0
        if self.tick < tick:
            now_ns = self.identity.now_ns()
            ahead = tick - self.lead_ticks
            if self.due(now_ns) < ahead:
                return self.anchor_ns + (ahead - self.anchor_tick) * self.tick_ns - now_ns
            if tick >= self.until:
                self.stretch(self.cells, self.cells)
                if self.tick + 1 < self.until:
                    self.enter(self.until - 1)
                    self.stretch(self.cells, self.cells)
                return SPENT
            self.enter(tick)
        if self.cell < cell:
            self.stretch(cell, self.cells)
        return 0

    def proceed(self) -> int:
        """Without a clock, at the end of a stretch: begin the next one. 0, or SPENT."""
        if not self.counting and self.end_cell < self.cells:
            if self.tick == self.mark:
                self.wanting = not self.queued
            self.stretch(self.end_cell, self.cells)
            return 0
        if self.tick + 1 >= self.until:
            if not self.queued:
                return SPENT
            self.queued = False
            self.begin(self.next_node, self.next_start, self.next_until)
            if self.tick + 1 >= self.until:
                return SPENT
        if self.counting:
            self.enter_row(self.tick + 1)
        else:
            self.enter(self.tick + 1)
        return 0

    def enter(self, tick: int) -> None:
        """Move the cursor to the first cell of a later tick inside the claim."""
        assert self.tick < tick  # I4: the cursor only moves forward,
        assert self.start <= tick < self.until  # and inside the claim
        self.flip(tick ^ self.placed, self.axis_low, self.axis_high)
        follows = tick == self.tick + 1 and not self.fresh and self.cell >= self.end_cell
        self.placed = self.tick = tick
        self.fresh = False
        if self.tick_ns:
            self.tick_end_ns = self.anchor_ns + (tick + 1 - self.anchor_tick) * self.tick_ns
        first, end = 0, self.cells
        # After a used-up tick the next one starts at 0: all its cells may be needed.
        if self.scattered_start and not follows:
            self.random_state = (self.random_state * _MULTIPLIER + 11) & _MASK
            first = (self.random_state >> 16) % self.cells
        if self.tick_ns == 0 and tick == self.mark:
            if first < self.mark_cell:
                end = self.mark_cell
            else:
                self.wanting = not self.queued
        self.stretch(first, end)

    def enter_row(self, value: int) -> None:
        """Move a counter's cursor to ``value``; the stretch ends with its row, claim or half."""
        first = value & (self.cells - 1)
        row = value - first
        stop = row + self.cells
        if self.until < stop:
            stop = self.until
        if value < self.mark and self.mark < stop:
            stop = self.mark
        if value == self.mark:
            self.wanting = not self.queued
        assert self.tick < value  # I4, as in enter
        assert self.start <= value < stop <= self.until
        self.flip(row ^ self.placed, self.axis_low, self.axis_high)
        self.placed = row
        self.tick = stop - 1
        self.fresh = False
        self.stretch(first, stop - row)

    def stretch(self, first: int, end: int) -> None:
        """Draw next from cells ``first`` to before ``end`` of the tick or row entered.

        Both ``cells``: from none. The cells drawn before are counted in ``issued``.
        """
        assert self.counted <= self.cell <= self.end_cell
        assert first <= end <= self.cells
        self.issued += self.cell - self.counted
        self.counted = self.cell = first
        self.end_cell = end
        self.set_here()

    def flip(self, flips: int, low: Words, high: Words) -> None:
        """Flip the places of the bits of ``flips`` in the base."""
        self.low = spread(self.low, flips, low)
        self.high = spread(self.high, flips, high)

    def draw(self) -> int:
        """The ID of the cell under the cursor, which moves on first. Precondition: ready() == 0."""
        cell = self.cell
        self.cell = cell + 1
        if self.shifted:
            low = self.low + (cell << self.shift)
            high = self.high
        else:
            low, high = self.here_low, self.here_high
            ones = trailing_ones(cell)
            self.here_low = low ^ self.step_low[ones]
            self.here_high = high ^ self.step_high[ones]
        if self.wide:
            return joined(high, low)
        return low

    def scatter(self, low: int, high: int, cell: int) -> int:
        """The ID with base (high, low) and each bit of ``cell`` in its place."""
        low = spread(low, cell, self.sequence_low)
        if self.wide:
            return joined(spread(high, cell, self.sequence_high), low)
        return low

    def set_here(self) -> None:
        """In a scattered layout: the ID of the cell under the cursor, for ``draw``."""
        if not self.shifted and self.cell < self.cells:
            self.here_low = spread(self.low, self.cell, self.sequence_low)
            self.here_high = spread(self.high, self.cell, self.sequence_high)

    def take_ready(self, count: int) -> list[int]:
        """Up to ``count`` IDs in order: as many as there are without waiting (maybe none)."""
        ids: list[int] = []
        while count > 0:
            with locked(self):
                if self.ready():
                    break
                low, high, first = self.low, self.high, self.cell
                room = self.end_cell - first
                if room > count:
                    room = count
                assert 0 < room <= self.end_cell - first  # each cell is marked once, and then used
                self.cell = first + room
                self.set_here()
            self.append_ids(ids, low, high, first, first + room)
            count -= room
        return ids

    def append_ids(self, ids: list[int], low: int, high: int, first: int, stop: int) -> None:
        """Append the IDs of cells, already marked as taken. low, high: the ID of cell 0."""
        shift = self.shift
        if not self.shifted:
            low = spread(low, first, self.sequence_low)
            high = spread(high, first, self.sequence_high)
            for cell in range(first, stop):
                ids.append(joined(high, low) if self.wide else low)
                ones = trailing_ones(cell)
                low ^= self.step_low[ones]
                high ^= self.step_high[ones]
        elif self.wide:
            base = joined(high, low)
            ids.extend([base + (cell << shift) for cell in range(first, stop)])
        elif (low + ((stop - 1) << shift)) >> 63:
            ids.extend([low + (cell << shift) for cell in range(first, stop)])
        else:  # a range of numbers that fit a C long is the fastest list
            step = ((first + 1) << shift) - (first << shift)
            ids.extend(range(low + (first << shift), low + ((stop - 1) << shift) + 1, step))

    def fill(self, out: Words, at: int) -> int:
        """Write IDs into ``out`` from index ``at`` on, and return the index after the last one.

        ``out`` is a buffer of 64-bit words; an ID wider than that takes two, the high one first.
        """
        size = len(out) // 2 if self.wide else len(out)
        while at < size:
            with locked(self):
                if self.ready():
                    break
                low, high, first = self.low, self.high, self.cell
                room = self.end_cell - first
                if room > size - at:
                    room = size - at
                assert 0 < room <= self.end_cell - first  # as in take_ready
                self.cell = first + room
                self.set_here()
            self.write_ids(out, at, low, high, first, first + room)
            at += room
        return at

    def write_ids(self, out: Words, at: int, low: int, high: int, first: int, stop: int) -> None:
        """Write them into a buffer, as ``append_ids``."""
        shift = self.shift
        if self.plain:
            for cell in range(first, stop):
                out[at] = low + (cell << shift)
                at += 1
            return
        low = spread(low, first, self.sequence_low)
        high = spread(high, first, self.sequence_high)
        for cell in range(first, stop):
            if self.wide:
                out[2 * at] = high
                out[2 * at + 1] = low
            else:
                out[at] = low
            ones = trailing_ones(cell)
            low ^= self.step_low[ones]
            high ^= self.step_high[ones]
            at += 1

    @one_step
    def adopt(
        self, node: int, start: int, until: int, now: int, into_ns: int, read_ns: int, era: int = 0
    ) -> None:
        """Begin a claim: ticks ``start`` to before ``until`` of one node, after all ticks walked.

        The registry's clock was ``into_ns`` within tick ``now`` when the boot clock read
        ``read_ns``. era: the keeper's. Its thread outlives its era if a virtual machine is
        restored; then this does nothing. Precondition: 0 <= start <= until.
        """
        self.check(node, start, until)
        if era and era != self.identity.era:
            return
        self.begin(node, start, until)
        self.tick_end_ns = 0
        self.anchor(now, into_ns, read_ns)
        self.held = not self.closed
        assert self.cell == self.end_cell  # nothing of the old claim is left

    @one_step
    def queue(self, node: int, start: int, until: int, era: int = 0) -> None:
        """Without a clock: store the claim that follows the present one when that is spent."""
        self.check(node, start, until)
        if era and era != self.identity.era:
            return
        assert self.tick_ns == 0  # with a clock, nothing would move the walk into it
        self.next_node, self.next_start, self.next_until = node, start, until
        self.queued = self.held
        self.wanting = False

    def check(self, node: int, start: int, until: int) -> None:
        """InternalError for a claim outside of the layout."""
        if not 0 <= start <= until or node > self.last_node or (until - 1) >> self.axis_bits:
            raise InternalError(f"claim [{start}, {until}) of node {node} leaves the layout")

    def begin(self, node: int, start: int, until: int) -> None:
        """Move the cursor to before the first cell of a claim."""
        assert 0 <= start <= until  # checked by ``check``
        self.low, self.high, self.placed = self.constant_low, self.constant_high, 0
        self.flip(node, self.node_low, self.node_high)
        self.start, self.until = start, until
        # Without a clock there is no order to keep between the cells of two nodes.
        if start > self.tick or (self.tick_ns == 0 and node != self.node):
            self.tick = start - 1
        assert self.tick >= start - 1  # so the next tick entered is none before the claim
        self.node = node
        self.fresh = True
        self.stretch(self.cells, self.cells)
        self.mark_half(start)

    def mark_half(self, start: int) -> None:
        """Mark where half is used of what reaches from ``start`` to the claim's end."""
        ticks = self.until - start
        self.mark = start + (ticks + 1) // 2 if self.counting else start + ticks // 2
        self.mark_cell = self.cells // 2 if ticks % 2 else 0
        assert start <= self.mark <= self.until
        self.wanting = False

    @one_step
    def prolong(self, until: int, now: int, into_ns: int, read_ns: int, era: int = 0) -> None:
        """The claim now reaches to ``until``; the clock is read again. The cursor stays."""
        if era and era != self.identity.era:
            return
        if until > self.until:
            start = self.until
            self.check(self.node, start, until)
            self.until = until
            self.mark_half(start)
        self.anchor(now, into_ns, read_ns)

    def anchor(self, now_tick: int, into_ns: int, read_ns: int) -> None:
        """Follow the registry's clock. An earlier reading than expected only delays the cursor."""
        self.anchor_tick, self.anchor_ns = now_tick, read_ns - into_ns
        if not self.tick_ns:
            self.tick_end_ns = _NEVER_NS
        elif not self.fresh:
            self.tick_end_ns = self.anchor_ns + (self.tick + 1 - now_tick) * self.tick_ns

    @one_step
    def left(self) -> int:
        """Ticks of the claim that are still ahead of the cursor and of the clock; 0 when spent."""
        if not self.held:
            return 0
        at = self.tick
        if self.counting:
            at = self.passed()
        elif self.cell >= self.cells:
            at += 1
        if self.tick_ns:
            due = self.due(self.identity.now_ns())
            if due > at:
                at = due
        left = self.until - at if self.until > at else 0
        return left + self.next_until - self.next_start if self.queued else left

    @one_step
    def made(self) -> int:
        """The number of IDs drawn, of all claims."""
        return self.issued + self.cell - self.counted

    def passed(self) -> int:
        """The first value of a counter after all that were drawn."""
        return self.tick + 1 - (self.end_cell - self.cell)

    @one_step
    def reach(self) -> int:
        """Ticks from the registry's clock to the claim's end; 0 when it has passed that."""
        due = self.due(self.identity.now_ns()) if self.tick_ns else self.tick
        return self.until - due if self.held and self.until > due else 0

    @one_step
    def begun(self) -> bool:
        """Whether the registry's clock has come to the claim's first tick."""
        return self.tick_ns == 0 or self.due(self.identity.now_ns()) >= self.start

    @one_step
    def leave(self, era: int = 0) -> int:
        """Let the claim go, and return its first tick in which nothing was issued."""
        if era and era != self.identity.era:
            return self.until
        if not self.fresh and self.tick >= self.start:
            # Kept for a second call: both the keeper and a close may call this.
            used = self.passed() if self.counting else self.tick + 1
            assert self.start <= used <= self.until  # I1: after every cell drawn, inside the claim
            self.start = used
        self.forget()
        return self.start

    def finish(self) -> int:
        """Leave for good: every later call returns CLOSED."""
        with locked(self):
            self.closed = True
        return self.leave()

    @one_step
    def restart(self, identity: process.ProcessIdentity) -> None:
        """In a copy of the process: start again with ``identity``, unless another call did."""
        if identity.intact() and not self.identity.intact():
            self.forget()
            assert not self.held  # I3: the claim is the parent's
            self.identity = identity

    def forget(self) -> None:
        """Drop the claim. The cursor keeps its tick."""
        self.held = self.queued = self.wanting = False
        self.fresh = True
        self.stretch(self.cells, self.cells)
        assert self.cell == self.end_cell  # the everyday call looks at these, not at `held`
        self.tick_end_ns = 0


def next_of(walk: Walk) -> int:
    """The next ID of a walk: of its tick's cells or a later tick's, or what ``stalled`` answers."""
    if walk is None:  # a Caller whose __init__ never ran: in C the next line would crash
        raise TypeError("this generator was never opened; call frazil.open")
    with locked(walk):
        if walk.identity.now_ns() < walk.tick_end_ns and walk.cell < walk.end_cell:
            if walk.identity.intact():
                if walk.plain:
                    cell = walk.cell
                    walk.cell = cell + 1
                    return walk.low + (cell << walk.shift)
                return walk.draw()
        # Not without a clock: `stalled` also looks ahead. After a rest, Python code takes 20 us.
        if walk.tick_ns and walk.ready() == 0:
            return walk.draw()
    return walk.stalled()


class Caller:
    """Calls a walk, and shows none of it: what users hold of a walk in this process."""

    def __init__(self, walk: Walk) -> None:
        self._called = walk

    def __call__(self) -> int:
        """The next ID."""
        return next_of(self._called)

    def __next__(self) -> int:
        """The next ID."""
        return next_of(self._called)

    def after(self, *seen: object, trusted: bool = True) -> int:
        """See ``frazil.Generator``."""
        walk = self._called
        if walk is not None and walk.rising and len(seen) == 1 and type(seen[0]) is int:
            n = next_of(walk)
            if n > seen[0] >= 0:
                return n
        return walk.stalled_after(seen, trusted)
