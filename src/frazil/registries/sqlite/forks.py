"""Keeps forks and SQLite apart.

SQLite counts the locks that its process holds on each file in memory, and protects the count with
a mutex. A child that is forked during another thread's step has a copy of both, but not the thread:
in the child the file stays locked, or the call never returns. The child cannot repair this. So a
fork waits until no other thread is in a step, and no step begins meanwhile. This takes a fraction
of a millisecond, because waiting for the lock on the file is not part of it.

A fork made in C consults only the gate that is written in C (``_fork_gate``). Without it, or if a
step takes longer than a fork waits, the child detects that threads which it does not have were in a
step (``cut``). It then uses SQLite without SQLite's locks; the lock of ``sqlite.lock`` is enough,
since every process takes it.

A file stays locked until its last copy is closed, and a child has copies of all open files. If its
parent is killed during a step, the child would hold the lock as long as it lives. So a child closes
the files (``opened``) that its parent's other threads were using.
"""

import os
import time
from importlib import import_module
from io import FileIO
from threading import get_ident
from typing import cast
from weakref import WeakKeyDictionary

from frazil.system.at_fork import at_fork
from frazil.system.process import ProcessIdentity

__all__ = ["PATIENCE_S", "abandon", "closed", "cut", "enter", "leave", "opened"]

PATIENCE_S = 2.0
"""How long a step waits for a fork: twice as long as a fork waits for a step."""

_NAP_S = 0.0002


class _PureGate:
    """The threads of one process that are inside, and those about to fork."""

    def __init__(self) -> None:
        self._anew(was_cut=False)

    def _anew(self, *, was_cut: bool) -> None:
        self._process = ProcessIdentity()
        self._inside: list[int] = []
        self._forking: list[int] = []  # twice, if an at-fork hook of it forks
        self._was_cut = was_cut

    def _mine(self) -> int:
        """The calling thread. In a child whose fork bypassed the gate, the gate starts again."""
        me = get_ident()
        if not self._process.intact():
            self._anew(was_cut=self._was_cut or bool(set(self._inside) - {me}))
        return me

    def enter(self) -> bool:
        """Enter; False if another thread is about to fork, and then ``leave`` at once."""
        me = self._mine()
        # Before the check: a forking thread announces itself before its own.
        self._inside.append(me)
        return self._inside.count(me) > 1 or not set(self._forking) - {me}

    def leave(self) -> None:
        """Leave."""
        me = self._mine()
        if me in self._inside:
            self._inside.remove(me)

    def shut(self) -> None:
        """Before a fork: let no thread enter, and wait for those inside."""
        me = self._mine()
        self._forking.append(me)
        deadline = time.monotonic() + PATIENCE_S / 2
        while set(self._inside) - {me} and time.monotonic() < deadline:
            time.sleep(_NAP_S)

    def reopen(self) -> None:
        """After the fork, in the parent."""
        me = self._mine()
        if me in self._forking:  # else a hook forked, and this is its child
            self._forking.remove(me)

    def cut(self) -> bool:
        """Whether this process was forked while another thread of its parent was inside."""
        self._mine()
        return self._was_cut


try:  # a module of the same functions
    _the = cast("_PureGate", import_module("frazil.registries.sqlite._fork_gate"))
except ImportError:
    _the = _PureGate()
_abandoned: list[object] = []
_open: WeakKeyDictionary[FileIO, int] = WeakKeyDictionary()  # and the thread whose step uses it

cut, leave = _the.cut, _the.leave


def enter(until_s: float) -> bool:
    """Begin the part of a step that uses SQLite: until ``leave`` no other thread forks.

    False while another thread is about to fork: release all locks and try again. After ``until_s``,
    by the monotonic clock, it is always True.
    """
    if _the.enter() or time.monotonic() >= until_s:
        return True
    _the.leave()
    return False


def abandon(thing: object) -> None:
    """Keep an object of the parent alive: a collected connection would roll back and close."""
    _abandoned.append(thing)


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


at_fork(before=_the.shut, after_in_parent=_the.reopen, after_in_child=_close_copies)
