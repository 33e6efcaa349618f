# cython: language_level=3
# cython: freethreading_compatible=True
"""``process`` and ``clock`` in C: the clocks without a Python call, the fork page by its address.

To read even the fastest clock is a third of an ID's cost. So the clock is read once in a number of
cycles of the processor's own counter (about 2 us), and the reading is used again in between. The
walk may notice the end of a tick that much later; nothing else depends on the counter. If the
counter jumps or is another core's, the clock is read; without a counter, it is always read. Where
threads run at the same time, each has a reading of its own: else one could return an old reading of
a thread that was stopped between the clock and the note of it.

Every libc ``fork()``, in C too, also runs ``pthread_atfork`` handlers. One of them wipes the page,
even if the kernel has already done so.
"""

from libc.string cimport memset
from posix.mman cimport MAP_ANON, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

__all__ = ["ProcessIdentity", "unlock", "wall_ns", "watch"]

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
    /* Another thread, another process or the hypervisor writes these words at any moment. */
    static unsigned long long frazil_read(const unsigned long long *word) {
        return __atomic_load_n(word, __ATOMIC_RELAXED);
    }
    static void frazil_write(unsigned long long *word, unsigned long long value) {
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    }
    static void frazil_unlock(PyObject *held) {
    #ifdef Py_GIL_DISABLED
        __atomic_store_n(&held->ob_mutex._bits, 0, __ATOMIC_SEQ_CST);
    #else
        (void) held;
    #endif
    }
    /* The era of `page`. If it has `ended`, one of several threads begins another. */
    static unsigned long long frazil_era(unsigned long long *page, int ended) {
        static unsigned long long eras = 0;
        unsigned long long now = __atomic_load_n(page, __ATOMIC_SEQ_CST), next;
        if (now != 0 && !ended) return now;
        next = __atomic_add_fetch(&eras, 1, __ATOMIC_SEQ_CST);
        if (__atomic_compare_exchange_n(page, &now, next, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return next;
        return now;
    }
    #if defined(Py_GIL_DISABLED) && defined(__GLIBC__)
    #define FRAZIL_OWN static __thread __attribute__((tls_model("initial-exec")))
    #elif defined(Py_GIL_DISABLED)
    #define FRAZIL_OWN static __thread
    #else
    #define FRAZIL_OWN static
    #endif
    FRAZIL_OWN unsigned long long frazil_asked_cycles = 0;
    FRAZIL_OWN long long frazil_asked_ns = 0;
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
    unsigned long long frazil_asked_cycles
    long long frazil_asked_ns
    unsigned long long frazil_era(unsigned long long *page, int ended) nogil
    unsigned long long frazil_read(const unsigned long long *word) nogil
    void frazil_write(unsigned long long *word, unsigned long long value) nogil
    void frazil_unlock(object held)
    int CLOCK_BOOTTIME
    int frazil_wipe_on_fork(void *page, size_t size) nogil
    int pthread_atfork(void (*prepare)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) nogil

cdef enum:
    PAGE_BYTES = 65536  # a whole number of pages on every machine

cdef unsigned long long *page = NULL
cdef unsigned long long no_vm = 0
cdef const unsigned long long *vm = &no_vm
cdef unsigned long long vm_seen = 0
cdef object vm_words = None  # keeps what `vm` points into
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
    frazil_wipe_on_fork(memory, PAGE_BYTES)
    if pthread_atfork(NULL, NULL, wipe) != 0:
        raise MemoryError("no at-fork handler for the fork word")
    if clock_gettime(boot_clock, &now) != 0:
        boot_clock = CLOCK_MONOTONIC


prepare()


def watch(const unsigned long long[::1] words not None):
    """Watch the first of these words, which changes when the machine is restored."""
    global vm, vm_seen, vm_words
    vm_words = words
    vm = &words[0]
    vm_seen = frazil_read(vm)


def wall_ns():
    """Nanoseconds since 1970 by the host's clock, whatever replaced Python's functions for it."""
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <long long> now.tv_sec * 1000000000 + now.tv_nsec


def unlock(object held):
    """In a child: free the lock that an object has without the GIL.

    Python gives such a lock to a thread that waited for it for a millisecond, while that thread
    still sleeps. A fork at this moment copies a lock whose owner is not in the child.
    """
    frazil_unlock(held)


cdef class ProcessIdentity:
    """The clock and the identity check of one generator. Make a new one after each fork."""

    def __cinit__(self):
        self.vm_seen = frazil_read(vm)
        self.era = frazil_era(page, self.vm_seen != frazil_read(&vm_seen))
        frazil_write(&vm_seen, self.vm_seen)  # last: until then, every thread begins another era
        self.word = <unsigned long long[:1]> page

    cpdef long long now_ns(self) except -1:
        """Nanoseconds since boot, suspend included; late by a few microseconds at most."""
        global frazil_asked_cycles, frazil_asked_ns
        cdef timespec now
        cdef unsigned long long cycles = frazil_cycles()
        if cycles - frazil_asked_cycles >= FRAZIL_STALE_CYCLES:
            clock_gettime(boot_clock, &now)
            frazil_asked_ns = now.tv_sec * 1000000000 + now.tv_nsec
            frazil_asked_cycles = cycles
        return frazil_asked_ns

    cpdef bint intact(self) noexcept:
        """Whether this process is the one that made this object."""
        return frazil_read(page) == self.era and frazil_read(vm) == self.vm_seen

    @property
    def mine(self):
        """The same, as the last check before a ``return``; see PureIdentity."""
        return self.intact()
