"""Imports that are done when a call first needs them, and that no fork interrupts.

Python locks a module while a thread imports it. If another thread forks then, the child has the
lock and not the thread, and its own import of the module waits forever. So a fork waits until such
an import has ended.
"""

from contextlib import suppress
from importlib import import_module
from threading import RLock
from typing import Any

from frazil.system.at_fork import at_fork

__all__ = ["load"]

_PATIENCE_S = 5.0  # an import may fork, and wait for the child

_importing = RLock()


def load(name: str) -> Any:
    """Return the module, imported if it is not yet. Raises what the import raises."""
    with _importing:
        return import_module(name)


def _before() -> None:
    _importing.acquire(timeout=_PATIENCE_S)


def _in_parent() -> None:
    """The lock counts for itself how often its thread has it: a hook may fork, too.

    It is not this thread's if the wait was in vain, or if a hook forked and this is its child.
    """
    with suppress(RuntimeError):
        _importing.release()


def _in_child() -> None:
    """C code forks without this wait, so a thread that the child lacks may have the lock."""
    global _importing  # noqa: PLW0603
    _importing = RLock()


at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
