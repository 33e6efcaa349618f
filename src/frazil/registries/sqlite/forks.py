"""Keeps forks and SQLite apart.

SQLite counts, for each file, the locks that its process holds, in memory, and it has locks of its
own on that. A child that is forked in the middle of another thread's step has a copy of both and
no such thread: in it the file looks locked for ever, or the call never returns. Nothing that the
child can do undoes this, so a fork waits until no other thread is in the middle of a step, and
none begins meanwhile. That is a fraction of a millisecond: waiting for the lock on the file is no
part of it.

A fork made inside C asks only the gate that is written in C (``_fork_gate``). Without it, or if a
step takes longer than a fork waits, the child finds that threads which it does not have were inside
(``cut``). Then it uses SQLite without SQLite's locks, which the lock of ``sqlite.lock`` makes
right, since everybody holds that one.

A file that is locked stays locked until the last copy of it is closed, and a child has copies of
all open files. If its parent is killed in a step, the child would hold the lock for as long as it
lives. So it closes the files of steps (``opened``) that threads of its parent were taking.
"""

import os
import time
from importlib import import_module
from io import FileIO
from threading import get_ident
from typing import cast
from weakref import WeakKeyDictionary

from frazil.system.process import ProcessIdentity

__all__ = ["PATIENCE_S", "abandon", "closed", "cut", "enter", "leave", "opened"]

PATIENCE_S = 2.0
"""How long a step waits for a fork; twice as long as a fork waits for a step."""

_NAP_S = 0.0002


class _PureGate:
    """Which threads of one process are inside, and which are about to fork."""

    def __init__(self) -> None:
        self._anew(was_cut=False)

    def _anew(self, *, was_cut: bool) -> None:
        self._sense = ProcessIdentity()
        self._inside: list[int] = []
        self._forking: set[int] = set()
        self._was_cut = was_cut

    def _mine(self) -> int:
        """The calling thread; in a child whose fork asked nobody the gate starts anew."""
        me = get_ident()
        if not self._sense.intact():
            self._anew(was_cut=self._was_cut or bool(set(self._inside) - {me}))
        return me

    def enter(self) -> bool:
        """Go inside; False if another thread is about to fork, and then ``leave`` at once."""
        me = self._mine()
        self._inside.append(me)  # before it looks, as who forks looks after it has said so
        return self._inside.count(me) > 1 or not self._forking - {me}

    def leave(self) -> None:
        """Come out."""
        me = self._mine()
        if me in self._inside:
            self._inside.remove(me)

    def shut(self) -> None:
        """Let nobody in, and wait for those inside: before a fork."""
        me = self._mine()
        self._forking.add(me)
        deadline = time.monotonic() + PATIENCE_S / 2
        while set(self._inside) - {me} and time.monotonic() < deadline:
            time.sleep(_NAP_S)

    def reopen(self) -> None:
        """After the fork, in the parent."""
        self._forking.discard(get_ident())

    def cut(self) -> bool:
        """Whether this process was forked while a thread that it does not have was inside."""
        self._mine()
        return self._was_cut


def _the_gate() -> _PureGate:
    try:
        return cast(
            "_PureGate", import_module("frazil.registries.sqlite._fork_gate")
        )  # the same functions
    except ImportError:
        return _PureGate()


_the = _the_gate()
_abandoned: list[object] = []
_open: WeakKeyDictionary[FileIO, int] = WeakKeyDictionary()  # and the thread whose step uses it

cut, leave = _the.cut, _the.leave


def enter(until_s: float) -> bool:
    """Begin the part of a step that uses SQLite: until ``leave`` no other thread forks.

    False while another thread is about to fork: let go of what is locked, and come again. From
    ``until_s`` on, by the monotonic clock, it is True all the same.
    """
    if _the.enter() or time.monotonic() >= until_s:
        return True
    _the.leave()
    return False


def abandon(thing: object) -> None:
    """Keep what is the parent's for good: a connection that is let go of rolls back and closes."""
    _abandoned.append(thing)


def opened(path: os.PathLike[str], flags: int, mode: int = 0o777) -> FileIO:
    """A file of the calling thread's step, for reading and writing; see ``closed``."""
    file = FileIO(os.open(path, flags | os.O_RDWR | os.O_CLOEXEC, mode), "r+")
    _open[file] = get_ident()
    return file


def closed(file: FileIO) -> None:
    """Close what ``opened`` gave."""
    _open.pop(file, None)
    file.close()


def _close_copies() -> None:
    """In a child: close what other threads of its parent had open."""
    for file, thread in list(_open.items()):
        if thread != get_ident():
            closed(file)


os.register_at_fork(before=_the.shut, after_in_parent=_the.reopen, after_in_child=_close_copies)
