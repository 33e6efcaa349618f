# cython: language_level=3
"""``frazil.machine`` in C: the boot clock without a Python call, the fork page by its address.

A fork made by any libc ``fork()`` also runs ``pthread_atfork`` handlers, so where the kernel does
not know MADV_WIPEONFORK the handler wipes the page.
"""

from libc.string cimport memset
from posix.mman cimport MAP_ANON, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

__all__ = ["Sense"]

cdef extern from *:
    """
    #include <pthread.h>
    #include <sys/mman.h>
    #include <time.h>
    #ifndef CLOCK_BOOTTIME
    #define CLOCK_BOOTTIME CLOCK_MONOTONIC
    #endif
    static int frazil_wipe_on_fork(void *page, size_t size) {
    #ifdef __linux__
        return madvise(page, size, 18);  /* MADV_WIPEONFORK; older headers lack the name */
    #else
        return -1;
    #endif
    }
    """
    int CLOCK_BOOTTIME
    int frazil_wipe_on_fork(void *page, size_t size) nogil
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) nogil

cdef enum:
    PAGE_BYTES = 65536  # a whole number of pages on every machine

cdef unsigned long long *page = NULL
cdef unsigned long long eras = 0
cdef int boot_clock = CLOCK_BOOTTIME


cdef void wipe() noexcept nogil:
    page[0] = 0


cdef void prepare():
    global page, boot_clock
    cdef timespec now
    cdef void *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANON, -1, 0)
    if memory == MAP_FAILED:
        raise MemoryError("no page for the fork word")
    page = <unsigned long long *> memory
    memset(memory, 0, PAGE_BYTES)
    if frazil_wipe_on_fork(memory, PAGE_BYTES) != 0:
        pthread_atfork(NULL, NULL, wipe)
    if clock_gettime(boot_clock, &now) != 0:
        boot_clock = CLOCK_MONOTONIC


prepare()


cdef class Sense:
    """The two senses of one generator. Make a new one after each fork."""

    def __cinit__(self):
        global eras
        if page[0] == 0:
            eras += 1
            page[0] = eras
        self.era = page[0]
        self.word = <unsigned long long[:1]> page

    cpdef long long now_ns(self) except -1:
        """Nanoseconds since boot, suspend included."""
        cdef timespec now
        clock_gettime(boot_clock, &now)
        return now.tv_sec * 1000000000 + now.tv_nsec

    cpdef bint intact(self) noexcept:
        """Whether this process is the one that made this object."""
        return page[0] == self.era
