# The C types of frazil/walk/walk.py, which is ordinary Python (Cython's pure-Python mode with an
# augmenting file). Compiled, no other thread and no signal handler runs inside a step; walk.py says
# why. A step is `cpdef` or `def`, and calls what is `cdef`.

cimport cython

from frazil.system._process cimport ProcessIdentity

cdef unsigned long long _MULTIPLIER
cdef unsigned long long _MASK

cdef int trailing_ones(unsigned long long cell) noexcept
@cython.locals(whole=object)
cdef object joined(unsigned long long high, unsigned long long low)
cdef unsigned long long spread(unsigned long long word, unsigned long long value,
                               unsigned long long[::1] places) noexcept

cdef class Walk:
    # Set once, by __init__: what the layout says.
    cdef bint wide                       # an ID has more than 64 bits
    cdef bint plain                      # an ID is low + (cell << shift): the everyday call's case
    cdef bint shifted                    # the sequence lies in one piece, in order, below bit 64
    cdef public bint rising              # a later cell has a greater ID; set by its owner
    cdef bint counting                   # the sequence is the axis: a counter, walked in rows
    cdef int shift                       # the ID bit of the sequence's lowest bit
    cdef int axis_bits                   # width of the axis, 62 at most: ends of claims fit it
    cdef unsigned long long cells        # IDs of one tick or row
    cdef unsigned long long last_node    # the greatest node number
    cdef unsigned long long constant_low    # the fixed fields, in place: ID bits 0-63,
    cdef unsigned long long constant_high   # and 64-127, as in each pair below
    cdef object word                     # 2^64 as a Python int
    cdef long long tick_ns               # length of a tick; 0 without a clock
    cdef long long lead_ticks            # how far ahead of the due tick the cursor may go
    cdef bint scattered_start            # each tick begins at a random cell
    # The claim held: set by adopt and begin; prolong moves until, leave moves start.
    cdef public ProcessIdentity identity  # of the process that holds it; restart changes it
    cdef readonly unsigned long long node  # node number
    cdef readonly long long start        # its first tick
    cdef readonly long long until        # the first tick after it
    cdef readonly bint held              # there is a claim; forget ends it
    cdef readonly bint closed            # finish was called: no claim is held ever again
    # The cursor: moved by enter, enter_row, stretch and each draw; within a node, only forward.
    cdef readonly long long tick         # the tick entered last; of a counter, the row's last value
    cdef unsigned long long cell         # the next cell to draw
    cdef unsigned long long end_cell     # the first cell after those to draw; equal: none are left
    cdef readonly bint fresh             # no cell of this claim was entered yet
    cdef unsigned long long random_state  # of the random first cells
    # The cursor's part of an ID: changed by begin, flip, stretch, set_here and draw.
    cdef unsigned long long placed       # the axis value whose bits are in low and high
    cdef unsigned long long low          # the ID of cell 0
    cdef unsigned long long high
    cdef unsigned long long here_low     # in a scattered layout: the ID of the next cell to draw
    cdef unsigned long long here_high
    # The registry's clock: set by anchor, at each answer of the registry.
    cdef long long anchor_tick           # the tick it was in
    cdef long long anchor_ns             # when that tick began, by the boot clock
    cdef long long tick_end_ns           # when the cursor's tick ends; until then a call only draws
    # The next claim, without a clock: set by queue, moved into the one held by proceed.
    cdef readonly bint queued            # there is one
    cdef unsigned long long next_node
    cdef long long next_start
    cdef long long next_until
    cdef readonly bint wanting           # half of the claim is used, and none is queued
    cdef long long mark                  # the tick in which half is used, and the cell in it
    cdef unsigned long long mark_cell    # (0: the tick's beginning); set by mark_half
    # Counts, kept by stretch.
    cdef readonly unsigned long long issued   # cells drawn before this stretch, of all claims
    cdef unsigned long long counted      # the first cell that is not in `issued` yet
    # Set once, by __init__: where the bits of each field go.
    cdef unsigned long long[::1] axis_low   # for each bit of the axis, its bit of the ID
    cdef unsigned long long[::1] axis_high
    cdef unsigned long long[::1] node_low   # the same for the node
    cdef unsigned long long[::1] node_high
    cdef unsigned long long[::1] sequence_low   # and for the sequence
    cdef unsigned long long[::1] sequence_high
    cdef unsigned long long[::1] step_low   # what XOR takes a cell's ID to the next cell's
    cdef unsigned long long[::1] step_high
    cdef object __weakref__

    cpdef long long due_now(self)
    cdef long long due(self, long long now_ns)
    cdef long long ready(self)
    cpdef long long advance(self, long long tick, unsigned long long cell,
                            unsigned long long node)
    cdef long long proceed(self)
    cdef enter(self, long long tick)
    cdef enter_row(self, long long value)
    cdef stretch(self, unsigned long long first, unsigned long long end)
    cdef flip(self, unsigned long long flips, unsigned long long[::1] low,
              unsigned long long[::1] high)
    cdef set_here(self)
    cdef object draw(self)
    cdef object scatter(self, unsigned long long low, unsigned long long high,
                        unsigned long long cell)
    cpdef object poll(self)
    cpdef long long pause_ns(self)
    cpdef list take_ready(self, Py_ssize_t count)
    cdef append_ids(self, list ids, unsigned long long low, unsigned long long high,
                    unsigned long long first, unsigned long long stop)
    cpdef Py_ssize_t fill(self, unsigned long long[::1] out, Py_ssize_t at)
    cdef write_ids(self, unsigned long long[::1] out, Py_ssize_t at, unsigned long long low,
                   unsigned long long high, unsigned long long first, unsigned long long stop)
    cpdef adopt(self, unsigned long long node, long long start, long long until,
                long long now, long long into_ns, long long read_ns,
                unsigned long long era=*)
    cpdef queue(self, unsigned long long node, long long start, long long until,
                unsigned long long era=*)
    cdef check(self, unsigned long long node, long long start, long long until)
    cdef begin(self, unsigned long long node, long long start, long long until)
    cdef mark_half(self, long long start)
    cpdef prolong(self, long long until, long long now, long long into_ns, long long read_ns,
                  unsigned long long era=*)
    cdef anchor(self, long long now_tick, long long into_ns, long long read_ns)
    cpdef long long left(self)
    cdef long long passed(self)
    cpdef long long reach(self)
    cpdef bint begun(self)
    cpdef long long leave(self, unsigned long long era=*)
    cpdef long long finish(self)
    cpdef restart(self, ProcessIdentity identity)
    cdef forget(self)

cdef object next_of(Walk walk)

cdef class Caller:
    cdef object __weakref__
    cdef Walk _called
