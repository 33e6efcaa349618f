"""Keeps forks apart from work that must not be half done in a child.

There are two kinds of it. During a *step* of SQLite, a mutex and a count of locks are in use; a
child that is forked then has copies of both, but not the thread that would release them. During an
*import*, Python has a lock on the module; in such a child, another import of it waits for ever.

So a fork waits until no other thread is inside, and no thread enters meanwhile. Both waits have a
limit, because a hook of another package may wait for a thread that waits here: an import may fork,
too, and wait for its child. A child of a fork that waited in vain detects that threads which it
does not have were in a step (``cut``).

Other at-fork hooks may run between frazil's hook and the fork, and signal handlers inside them.
They may request an ID, and wait for a thread that has to enter. A thread that waits is not forking
yet: ``waiting`` opens the gate until its wait is over.

A hook may also wait for a lock of a thread that requests an ID, which is not visible here. So a
fork that has not happened after a short time (``_FRESH_S``) no longer delays any step.

Python drops an exception that a signal handler raises inside an at-fork hook. So the gate is
written in C (``_fork_gate``), where no handler runs; the handler runs after the fork. The gate in
Python is for systems without a compiler. There a handler may run inside a hook, its exception is
dropped, and forks that C code makes are not seen.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import get_ident
from typing import cast

from frazil.system.clock import boot_s
from frazil.system.process import ProcessIdentity, at_fork

PATIENCE_S = 0.5  # how long a step or an import waits for forks
_FRESH_S = 0.2  # since the beginning of the last fork; hooks that take longer wait for something
_STEP_S, _IMPORT_S = 1.0, 5.0  # how long a fork waits
_NAP_S = 0.0002


def _others(those: list[int], me: int) -> set[int]:
    """All of them but one. The copy is whole, also while another thread changes the list."""
    return set(those.copy()) - {me}


class _PureGate:
    """The threads of one process that are inside, and those about to fork."""

    def __init__(self) -> None:
        self._anew(was_cut=False)

    def _anew(self, *, was_cut: bool) -> None:
        self._process = ProcessIdentity()
        self._inside: list[int] = []
        self._importing: list[int] = []
        self._forking: list[int] = []  # twice, if an at-fork hook of it forks
        self._fresh_until_s = 0.0
        self._was_cut = was_cut

    def _mine(self) -> int:
        """The calling thread. In a child the gate starts again."""
        me = get_ident()
        if not self._process.intact():
            self._anew(was_cut=self._was_cut or bool(_others(self._inside, me)))
        return me

    def enter(self) -> bool:
        """Enter; False if another thread is about to fork, and then ``leave`` at once."""
        if self._entered(self._inside, self._mine()):
            return True
        return boot_s() >= self._fresh_until_s

    def _entered(self, those: list[int], me: int) -> bool:
        # Before the check: a forking thread announces itself before its own.
        those.append(me)
        return those.count(me) > 1 or not _others(self._forking, me)

    def leave(self) -> None:
        """Leave."""
        me = self._mine()
        if me in self._inside:
            self._inside.remove(me)

    def shut(self) -> None:
        """Before a fork: let no thread enter, and wait for those inside."""
        me = self._mine()
        self._fresh_until_s = boot_s() + _FRESH_S  # before the next line, which announces
        self._forking.append(me)
        self._wait(me)

    def _wait(self, me: int) -> None:
        for those, patience_s in ((self._inside, _STEP_S), (self._importing, _IMPORT_S)):
            deadline = boot_s() + patience_s
            while _others(those, me) and boot_s() < deadline:
                time.sleep(_NAP_S)
        self._fresh_until_s = boot_s() + _FRESH_S

    def reopen(self) -> None:
        """After the fork, in the parent."""
        me = self._mine()
        if me in self._forking:  # else a hook forked, and this is its child
            self._forking.remove(me)

    def cut(self) -> bool:
        """Whether this process was forked while another thread of its parent was inside."""
        self._mine()
        return self._was_cut

    @contextmanager
    def importing(self) -> Iterator[None]:
        """While it runs no other thread forks, unless the import takes long."""
        me = self._mine()
        deadline = boot_s() + PATIENCE_S
        while not self._entered(self._importing, me) and boot_s() < deadline:
            self._importing.remove(me)
            time.sleep(_NAP_S)
        try:
            yield
        finally:
            if me in self._importing:  # else a child began again
                self._importing.remove(me)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While it runs other threads may enter, although the calling one is about to fork."""
        me = self._mine()
        forks = self._forking.count(me)
        for _ in range(forks):
            self._forking.remove(me)
        try:
            yield
        finally:
            for _ in range(forks):
                self.shut()


try:  # a module of the same functions
    _the = cast("_PureGate", import_module("frazil.system._fork_gate"))
except ImportError:
    _the = _PureGate()

cut, enter, leave = _the.cut, _the.enter, _the.leave
importing, waiting = _the.importing, _the.waiting

at_fork(before=_the.shut, after_in_parent=_the.reopen)
