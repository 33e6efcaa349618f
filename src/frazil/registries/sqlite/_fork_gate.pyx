# cython: language_level=3
"""``frazil.registries.sqlite.forks`` in C: the gate, also for forks that C code makes.

``pthread_atfork`` handlers run for every ``fork()`` of the C library, in the thread that forks. If
that thread holds the interpreter's lock, as uWSGI's does, it releases the lock while it waits,
because the threads inside need it to leave.
"""

__all__ = ["cut", "enter", "leave", "reopen", "shut"]

cdef extern from *:
    """
    #include <pthread.h>
    #include <time.h>
    #define FRAZIL_NAP_NS 200000
    #define FRAZIL_NAPS 5000  /* a second of them */
    static int frazil_inside = 0, frazil_forking = 0, frazil_cut = 0;
    static __thread int frazil_mine = 0;
    static __thread int frazil_my_forks = 0; /* several, if an at-fork hook forks */

    static int frazil_others(void) {
        return __atomic_load_n(&frazil_inside, __ATOMIC_SEQ_CST) - frazil_mine;
    }
    static void frazil_wait(void) {
        struct timespec nap = {0, FRAZIL_NAP_NS};
        for (int i = 0; i < FRAZIL_NAPS && frazil_others() > 0; i++) nanosleep(&nap, NULL);
    }
    static void frazil_prepare(void) {
        PyThreadState *kept = NULL;
        frazil_my_forks++;
        __atomic_add_fetch(&frazil_forking, 1, __ATOMIC_SEQ_CST);
        if (frazil_others() <= 0 || !Py_IsInitialized()) return;
        if (PyGILState_GetThisThreadState() != NULL && PyGILState_Check())
            kept = PyEval_SaveThread();
        frazil_wait();
        if (kept) PyEval_RestoreThread(kept);
    }
    static void frazil_parent(void) {
        if (frazil_my_forks == 0) return; /* a hook forked, and this is its child */
        frazil_my_forks--;
        __atomic_sub_fetch(&frazil_forking, 1, __ATOMIC_SEQ_CST);
    }
    static void frazil_child(void) {
        if (frazil_others() > 0) frazil_cut = 1;
        frazil_inside = frazil_mine;
        frazil_forking = frazil_my_forks = 0;
    }
    static int frazil_enter(void) {
        __atomic_add_fetch(&frazil_inside, 1, __ATOMIC_SEQ_CST);
        frazil_mine++;
        int forking = __atomic_load_n(&frazil_forking, __ATOMIC_SEQ_CST) - frazil_my_forks;
        return frazil_mine > 1 || !forking;
    }
    static void frazil_leave(void) {
        frazil_mine--;
        __atomic_sub_fetch(&frazil_inside, 1, __ATOMIC_SEQ_CST);
    }
    static int frazil_watch_forks(void) {
        return pthread_atfork(frazil_prepare, frazil_parent, frazil_child);
    }
    """
    int frazil_cut
    int frazil_enter() nogil
    int frazil_watch_forks() nogil
    void frazil_leave() nogil
    void frazil_parent() nogil
    void frazil_prepare() nogil


def enter() -> bool:
    """Enter; False if a thread is about to fork, and then ``leave`` at once."""
    return frazil_enter() != 0


def leave() -> None:
    """Leave."""
    frazil_leave()


def shut() -> None:
    """Before a fork: let no thread enter, and wait for those inside."""
    frazil_prepare()


def reopen() -> None:
    """After the fork, in the parent."""
    frazil_parent()


def cut() -> bool:
    """Whether this process was forked while a thread that it does not have was inside."""
    return frazil_cut != 0


if frazil_watch_forks() != 0:
    raise MemoryError("no at-fork handlers for the gate")
