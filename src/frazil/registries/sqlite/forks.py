"""What SQLite needs at a fork.

SQLite counts the locks that its process holds on each file in memory, and protects the count with
a mutex. A child that is forked during another thread's step has a copy of both, but not the thread:
in the child the file stays locked, or the call never returns. The child cannot repair this. So
forks and steps are kept apart (``system.fork_gate``). This takes a fraction of a millisecond,
because waiting for the lock on the file is not part of it.

If a fork happens during a step nevertheless, the child uses SQLite without SQLite's locks
(``cut``); the lock of ``sqlite.lock`` is enough, since every process takes it.

A file stays locked until its last copy is closed, and a child has copies of all open files. If its
parent is killed during a step, the child would hold the lock as long as it lives. So a child closes
the files (``opened``) that its parent's other threads were using.
"""

import os
from io import FileIO
from threading import get_ident
from weakref import WeakKeyDictionary

from frazil.system import fork_gate
from frazil.system.clock import boot_s
from frazil.system.process import at_fork

abandoned: list[object] = []
"""Objects of the parent that a child keeps: a collected connection would roll back and close."""

_open: WeakKeyDictionary[FileIO, int] = WeakKeyDictionary()  # and the thread whose step uses it


def enter(until_s: float) -> bool:
    """Begin the part of a step that uses SQLite: until ``leave`` no other thread forks.

    False while another thread is about to fork: release all locks and try again. After ``until_s``,
    by the boot clock, it is always True.
    """
    if fork_gate.enter() or boot_s() >= until_s:
        return True
    fork_gate.leave()
    return False


def opened(path: os.PathLike[str], flags: int, mode: int = 0o777) -> FileIO:
    """Open a file for the calling thread's step, for reading and writing; see ``closed``."""
    file = FileIO(os.open(path, flags | os.O_RDWR | os.O_CLOEXEC, mode), "r+")
    _open[file] = get_ident()
    return file


def closed(file: FileIO) -> None:
    """Close a file from ``opened``."""
    _open.pop(file, None)
    file.close()


def _close_copies() -> None:
    """In a child: close the files of its parent's other threads."""
    for file, thread in list(_open.items()):
        if thread != get_ident():
            closed(file)


at_fork(after_in_child=_close_copies)
