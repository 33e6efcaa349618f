"""Imports that are done when a call first needs them, and that no fork interrupts.

Python locks a module while a thread imports it. If another thread forks then, the child has the
lock and not the thread, and its own import of the module waits forever. So a fork waits until such
an import has ended (see ``fork_gate``).
"""

from importlib import import_module
from typing import Any

from frazil.errors import unfinished
from frazil.system.fork_gate import importing


def load(name: str) -> Any:
    """Return the module, or its attribute after a colon; imported if it is not yet.

    Raises what the import raises, and TryLater in a signal handler that interrupted it.
    """
    home, _, attribute = name.partition(":")
    with importing():
        try:
            module = import_module(home)
            if getattr(module.__spec__, "_initializing", False):
                raise ImportError(f"partially initialized module {home!r}")
            return getattr(module, attribute) if attribute else module
        except (AttributeError, ImportError) as error:
            if late := unfinished(name, error):
                raise late from error
            raise
