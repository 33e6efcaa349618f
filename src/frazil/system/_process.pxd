# The C face of frazil.system.process: see _process.pyx.

cdef class ProcessIdentity:
    cdef readonly unsigned long long era
    cdef readonly unsigned long long vm_seen
    cdef readonly object word
    cpdef long long now_ns(self) except -1
    cpdef bint intact(self) noexcept
