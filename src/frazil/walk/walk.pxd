# The C types of frazil/walk/walk.py, which stays ordinary Python (Cython's pure-Python mode with an
# augmenting file). Compiled, a method body here runs from start to end without another thread or
# a signal handler in between; walk.py says which of its steps rely on that.

from frazil.system._process cimport ProcessIdentity

cdef int trailing_ones(unsigned long long cell) noexcept
cdef unsigned long long spread(unsigned long long word, unsigned long long value,
                               unsigned long long[::1] places) noexcept

cdef class Walk:
    cdef object __weakref__
    cdef public ProcessIdentity identity
    cdef readonly long long tick
    cdef readonly long long start
    cdef readonly long long until
    cdef readonly bint held
    cdef readonly bint wanting
    cdef readonly bint queued
    cdef readonly bint closed
    cdef long long tick_ns
    cdef long long lead_ticks
    cdef long long anchor_tick
    cdef long long anchor_ns
    cdef long long turn_ns
    cdef unsigned long long sequence
    cdef unsigned long long sequences
    cdef readonly unsigned long long issued
    cdef unsigned long long counted
    cdef unsigned long long cells
    cdef bint counting
    cdef long long mark
    cdef unsigned long long mark_cell
    cdef readonly unsigned long long node
    cdef unsigned long long next_node
    cdef long long next_start
    cdef long long next_until
    cdef bint shifted
    cdef bint wide
    cdef bint plain
    cdef bint scattered_start
    cdef readonly bint fresh
    cdef unsigned long long placed
    cdef int shift
    cdef int axis_bits
    cdef unsigned long long last_node
    cdef unsigned long long low
    cdef unsigned long long high
    cdef unsigned long long dice
    cdef object word
    cdef object wide_base
    cdef unsigned long long[::1] axis_low
    cdef unsigned long long[::1] axis_high
    cdef unsigned long long[::1] node_low
    cdef unsigned long long[::1] node_high
    cdef unsigned long long[::1] sequence_low
    cdef unsigned long long[::1] sequence_high
    cdef unsigned long long[::1] step_low
    cdef unsigned long long[::1] step_high
    cdef unsigned long long here_low
    cdef unsigned long long here_high
    cdef unsigned long long constant_low
    cdef unsigned long long constant_high

    cpdef long long due(self, long long now_ns)
    cpdef long long turn(self)
    cdef long long proceed(self)
    cdef enter(self, long long tick)
    cdef enter_row(self, long long value)
    cdef stretch(self, unsigned long long first, unsigned long long end)
    cdef place(self, unsigned long long flips, unsigned long long[::1] low,
               unsigned long long[::1] high)
    cdef stand(self)
    cdef object draw(self)
    cdef object scatter(self, unsigned long long low, unsigned long long high,
                        unsigned long long cell)
    cpdef object poll(self)
    cpdef long long pause_ns(self)
    cpdef list take_ready(self, Py_ssize_t count)
    cdef extend(self, list ids, unsigned long long first, unsigned long long stop)
    cpdef Py_ssize_t fill(self, unsigned long long[::1] out, Py_ssize_t at)
    cdef paint(self, unsigned long long[::1] out, Py_ssize_t at, unsigned long long first,
               unsigned long long stop)
    cpdef adopt(self, unsigned long long node, long long start, long long until,
                long long now, long long into_ns, long long read_ns,
                unsigned long long era=*)
    cpdef queue(self, unsigned long long node, long long start, long long until,
                unsigned long long era=*)
    cdef check(self, unsigned long long node, long long start, long long until)
    cdef begin(self, unsigned long long node, long long start, long long until)
    cdef halve(self, long long start)
    cpdef prolong(self, long long until, long long now, long long into_ns, long long read_ns,
                  unsigned long long era=*)
    cdef anchor(self, long long now, long long into_ns, long long read_ns)
    cpdef long long left(self)
    cdef long long passed(self)
    cpdef long long reach(self)
    cpdef bint begun(self)
    cpdef long long leave(self, unsigned long long era=*)
    cpdef long long finish(self)
    cpdef rise(self, ProcessIdentity identity)
    cpdef forget(self)

cdef object next_of(Walk walk)

cdef class Caller:
    cdef object __weakref__
    cdef readonly Walk _walk
