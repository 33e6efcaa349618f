"""Hooks that run at a fork, on systems that have forks.

Windows has none, and its Python has no ``os.register_at_fork``. There is nothing to do there.
"""

import os

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable


def at_fork(**hooks: "Callable[[], object]") -> None:
    """``os.register_at_fork``; nothing on a system without forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)
