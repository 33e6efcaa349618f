"""The text of a file that is shipped beside a module.

``importlib.resources`` reads it too, but its first use imports 6 modules, which takes longer than a
step on a file of claims.
"""

import sys
from pathlib import Path
from typing import Any


def text_beside(module: str, name: str) -> str:
    """The text of the file ``name`` in the directory, or the archive, of an imported module."""
    data: bytes = _spec(module).loader.get_data(path_beside(module, name))
    return data.decode("utf-8")


def path_beside(module: str, name: str) -> str:
    """The absolute path of that file; in an archive, it begins with the path of the archive."""
    return str(Path(_spec(module).origin).absolute().with_name(name))


def _spec(module: str) -> Any:
    return sys.modules[module].__spec__
