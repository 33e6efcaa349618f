"""The text of a file that is shipped beside a module.

``importlib.resources`` reads it too, but its first use imports 6 modules, which takes longer than a
step on a file of claims.
"""

import sys
from pathlib import Path
from typing import Any

__all__ = ["text_beside"]


def text_beside(module: str, name: str) -> str:
    """The text of the file ``name`` in the directory, or the archive, of an imported module."""
    spec: Any = sys.modules[module].__spec__
    data: bytes = spec.loader.get_data(str(Path(spec.origin).with_name(name)))
    return data.decode("utf-8")
