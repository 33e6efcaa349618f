"""Imports that are done when a call first needs them, and that no fork interrupts.

Python locks a module while a thread imports it. If another thread forks then, the child has the
lock and not the thread, and its own import of the module waits forever. So a fork waits until such
an import has ended (see ``fork_gate``).
"""

from importlib import import_module
from typing import Any

from frazil.system.fork_gate import importing

__all__ = ["load"]


def load(name: str) -> Any:
    """Return the module, imported if it is not yet. Raises what the import raises."""
    with importing():
        return import_module(name)
