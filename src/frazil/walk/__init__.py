"""A walk never leaves its claim: ``walk`` holds the only proof of that sentence.

The walk is one Python source. Where a compiler was found it is there compiled too, and that one is
used, unless the environment says ``FRAZIL_PURE=1``. Both halves of the core are of one kind, for
the compiled walk reads the fields of the compiled ``ProcessIdentity``.
"""

import importlib.util
import sys
from pathlib import Path

from frazil.errors import InternalError
from frazil.system.process import ProcessIdentity, PureIdentity

__all__: list[str] = []


def _interpret(name: str) -> None:
    """Load a module of this package from its source although a compiled one is there."""
    path = Path(__file__).with_name(name.rpartition(".")[2] + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InternalError(f"no source for {name} at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if ProcessIdentity is PureIdentity:
    _interpret("frazil.walk.walk")
