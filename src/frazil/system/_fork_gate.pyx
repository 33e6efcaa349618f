# cython: language_level=3
# cython: freethreading_compatible=True
"""``fork_gate`` in C: no signal handler runs inside it, and forks that C code makes use it, too.

``pthread_atfork`` handlers run for every ``fork()`` of the C library, in the thread that forks. If
that thread holds the interpreter's lock, as uWSGI's does, it releases the lock while it waits,
because the threads inside need it to leave. A fork by Python has waited in its hook. It waits here
only briefly, for a step that began after that; and not at all on Python 3.13 and later, which holds
a lock of its own by then: a thread that starts or ends would wait for it with the interpreter's
lock held, and both threads would wait for ever.
"""

__all__ = ["cut", "enter", "importing", "leave", "reopen", "shut", "waiting"]

cdef extern from *:
    """
    #include <pthread.h>
    #include <time.h>
    #define FRAZIL_NAP_NS 200000
    #define FRAZIL_NAPS 5000          /* a second of them: how long a fork waits for a step */
    #define FRAZIL_IMPORT_NAPS 25000  /* and for an import */
    #define FRAZIL_SHUT_NAPS 2500     /* and how long an import waits for a fork */
    #define FRAZIL_FRESH_NS 200000000LL
    #if PY_VERSION_HEX >= 0x030D0000
    #define FRAZIL_LATE_NAPS 0
    #else
    #define FRAZIL_LATE_NAPS 2500
    #endif
    static int frazil_inside = 0, frazil_importing = 0, frazil_forking = 0, frazil_cut = 0;
    static long long frazil_fresh_ns = 0; /* until then, those about to fork are waited for */
    static __thread int frazil_mine = 0, frazil_my_imports = 0;
    static __thread int frazil_my_forks = 0; /* several, if an at-fork hook forks */
    static __thread int frazil_my_hooks = 0; /* those of them that began in Python */

    static int frazil_read(int *number) { return __atomic_load_n(number, __ATOMIC_SEQ_CST); }
    static void frazil_add(int *number, int many) {
        __atomic_add_fetch(number, many, __ATOMIC_SEQ_CST);
    }
    static int frazil_steps(void) { return frazil_read(&frazil_inside) - frazil_mine; }
    static int frazil_imports(void) { return frazil_read(&frazil_importing) - frazil_my_imports; }
    static int frazil_forks(void) { return frazil_read(&frazil_forking) - frazil_my_forks; }
    static long long frazil_now_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
    }
    static void frazil_freshen(void) {
        __atomic_store_n(&frazil_fresh_ns, frazil_now_ns() + FRAZIL_FRESH_NS, __ATOMIC_SEQ_CST);
    }
    static int frazil_is_shut(void) {
        return frazil_forks() > 0
            && frazil_now_ns() < __atomic_load_n(&frazil_fresh_ns, __ATOMIC_SEQ_CST);
    }
    static int frazil_busy(int nap, int naps, int import_naps) {
        return (nap < naps && frazil_steps() > 0) || (nap < import_naps && frazil_imports() > 0);
    }
    static void frazil_wait(int naps, int import_naps) {
        struct timespec pause = {0, FRAZIL_NAP_NS};
        PyThreadState *kept = NULL;
        if (!frazil_busy(0, naps, import_naps) || !Py_IsInitialized()) return;
        if (PyGILState_GetThisThreadState() != NULL && PyGILState_Check())
            kept = PyEval_SaveThread();
        for (int nap = 0; frazil_busy(nap, naps, import_naps); nap++) nanosleep(&pause, NULL);
        if (kept) PyEval_RestoreThread(kept);
    }
    static void frazil_announce(int forks) {
        if (forks > 0) frazil_freshen();
        frazil_my_forks += forks;
        frazil_add(&frazil_forking, forks);
    }
    static void frazil_prepare(void) {
        frazil_announce(1);
        frazil_wait(frazil_my_hooks > 0 ? FRAZIL_LATE_NAPS : FRAZIL_NAPS, 0);
        frazil_freshen();
    }
    static void frazil_parent(void) {
        if (frazil_my_forks > 0) frazil_announce(-1); /* else a hook forked: this is its child */
    }
    static void frazil_child(void) {
        if (frazil_steps() > 0) frazil_cut = 1;
        frazil_inside = frazil_mine;
        frazil_importing = frazil_my_imports;
        frazil_forking = frazil_my_forks = frazil_my_hooks = 0;
    }
    static void frazil_shut(void) {
        frazil_my_hooks++;
        frazil_announce(1);
        frazil_wait(FRAZIL_NAPS, FRAZIL_IMPORT_NAPS);
        frazil_freshen();
    }
    static void frazil_reopen(void) {
        if (frazil_my_hooks > 0) frazil_my_hooks--;
        frazil_parent();
    }
    static int frazil_step_aside(void) {
        int forks = frazil_my_forks;
        frazil_announce(-forks);
        return forks;
    }
    static void frazil_step_back(int forks) {
        if (forks == 0) return;
        frazil_announce(forks);
        frazil_wait(FRAZIL_NAPS, 0);
        frazil_freshen();
    }
    static int frazil_enter(void) {
        frazil_add(&frazil_inside, 1);
        frazil_mine++;
        return frazil_mine > 1 || !frazil_is_shut();
    }
    static void frazil_leave(void) {
        frazil_mine--;
        frazil_add(&frazil_inside, -1);
    }
    static void frazil_add_import(int many) {
        frazil_my_imports += many;
        frazil_add(&frazil_importing, many);
    }
    static void frazil_begin_import(void) {
        struct timespec pause = {0, FRAZIL_NAP_NS};
        frazil_add_import(1);
        for (int nap = 0; nap < FRAZIL_SHUT_NAPS; nap++) {
            if (frazil_my_imports > 1 || frazil_forks() <= 0) return;
            frazil_add_import(-1);
            nanosleep(&pause, NULL);
            frazil_add_import(1);
        }
    }
    static int frazil_watch_forks(void) {
        return pthread_atfork(frazil_prepare, frazil_parent, frazil_child);
    }
    """
    int frazil_cut
    int frazil_enter() nogil
    int frazil_step_aside() nogil
    int frazil_watch_forks() nogil
    void frazil_add_import(int many) nogil
    void frazil_begin_import() nogil
    void frazil_leave() nogil
    void frazil_reopen() nogil
    void frazil_shut()
    void frazil_step_back(int forks)


def enter() -> bool:
    """Enter; False if a thread is about to fork, and then ``leave`` at once."""
    return frazil_enter() != 0


def leave() -> None:
    """Leave."""
    frazil_leave()


def shut() -> None:
    """Before a fork: let no thread enter, and wait for those inside."""
    frazil_shut()


def reopen() -> None:
    """After the fork, in the parent."""
    frazil_reopen()


def cut() -> bool:
    """Whether this process was forked while a thread that it does not have was inside."""
    return frazil_cut != 0


cdef class importing:
    """``with importing():`` no other thread forks, unless the import takes long."""

    def __enter__(self):
        with nogil:
            frazil_begin_import()

    def __exit__(self, *_error):
        frazil_add_import(-1)


cdef class waiting:
    """``with waiting():`` other threads may enter, although the calling one is about to fork."""

    cdef int forks

    def __enter__(self):
        self.forks = frazil_step_aside()

    def __exit__(self, *_error):
        frazil_step_back(self.forks)


if frazil_watch_forks() != 0:
    raise MemoryError("no at-fork handlers for the gate")
