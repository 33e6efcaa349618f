"""Modules and files that are loaded when a call first needs them.

Python locks a module while a thread imports it. If another thread forks then, the child has the
lock and not the thread, and its own import of the module waits forever. So a fork waits until such
an import has ended (see ``fork_gate``).

The loader of a module also reads the files beside it. ``importlib.resources`` does that, too, but
its first use imports 6 modules, which takes longer than a step on a file of claims.
"""

import sys
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


def text_beside(module: str, name: str) -> str:
    """The text of the file ``name`` in the directory, or the archive, of an imported module."""
    loader: Any = sys.modules[module].__spec__.loader  # type: ignore[union-attr]
    data: bytes = loader.get_data(path_beside(module, name))
    return data.decode("utf-8")


def path_beside(module: str, name: str) -> str:
    """The absolute path of that file; in an archive, it begins with the path of the archive."""
    from pathlib import Path  # slow to load

    return str(Path(str(sys.modules[module].__file__)).absolute().with_name(name))
