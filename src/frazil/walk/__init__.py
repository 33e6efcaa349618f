"""A walk never leaves its claim: ``walk`` holds the only proof of that sentence.

The walk is one Python source. If the install found a compiler, the compiled module is used, unless
the environment has ``FRAZIL_PURE=1``. The walk and ``ProcessIdentity`` are both compiled or both
interpreted, because the compiled walk reads the fields of the compiled identity.
"""

import sys
from contextlib import nullcontext as locked

from frazil.errors import InternalError
from frazil.system.process import ProcessIdentity, PureIdentity

__all__ = ["locked", "one_step"]

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Step = TypeVar("Step", bound=Callable[..., Any])


def one_step(step: "Step") -> "Step":
    """The method itself: in the interpreted walk this and ``locked`` only mark what is one step."""
    return step


def _interpret(name: str) -> None:
    """Load a module of this package from its source, even if a compiled one exists."""
    import importlib.util

    path = f"{__file__.removesuffix('__init__.py')}{name.rpartition('.')[2]}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InternalError(f"no source for {name} at {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


if ProcessIdentity is PureIdentity:
    _interpret("frazil.walk.walk")
