# cython: language_level=3
"""``frazil.machine`` in C: the boot clock without a Python call, the fork page by its address.

Asking even the fastest clock is a third of what an ID costs. So it is asked once in so many cycles
of the processor's own counter (about 2 us), and in between the answer is the one before: the end of
a tick may be noticed that much later, and nothing else can come of it, whatever the counter does.
Where it jumps or is another core's, the clock is asked; where a processor has none, always.

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
    #if defined(__x86_64__) || defined(__i386__)
    #define FRAZIL_STALE_CYCLES 4096  /* 1 to 4 us */
    static unsigned long long frazil_cycles(void) { return __builtin_ia32_rdtsc(); }
    #elif defined(__aarch64__)
    #define FRAZIL_STALE_CYCLES 64  /* of a counter of 24 MHz to 1 GHz: 0.06 to 3 us */
    static unsigned long long frazil_cycles(void) {
        unsigned long long now;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
        return now;
    }
    #else
    #define FRAZIL_STALE_CYCLES 0
    static unsigned long long frazil_cycles(void) { return 0; }
    #endif
    """
    const unsigned long long FRAZIL_STALE_CYCLES
    unsigned long long frazil_cycles() nogil
    int CLOCK_BOOTTIME
    int frazil_wipe_on_fork(void *page, size_t size) nogil
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) nogil

cdef enum:
    PAGE_BYTES = 65536  # a whole number of pages on every machine

cdef unsigned long long *page = NULL
cdef unsigned long long eras = 0
cdef int boot_clock = CLOCK_BOOTTIME
cdef unsigned long long asked_cycles = 0
cdef long long asked_ns = 0


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
        """Nanoseconds since boot, suspend included; late by a few microseconds at most."""
        global asked_cycles, asked_ns
        cdef timespec now
        cdef unsigned long long cycles = frazil_cycles()
        if cycles - asked_cycles >= FRAZIL_STALE_CYCLES:
            clock_gettime(boot_clock, &now)
            asked_ns = now.tv_sec * 1000000000 + now.tv_nsec
            asked_cycles = cycles
        return asked_ns

    cpdef bint intact(self) noexcept:
        """Whether this process is the one that made this object."""
        return page[0] == self.era
