"""Exceptions that strike between any two steps of an operation, as a signal handler raises them.

Ctrl-C, an alarm and the soft time limit of a task queue all raise in the middle of other code.
Python calls a tracer before each instruction, which can raise there. It raises only in the code
under test, and only where a handler can run: in a caller's thread. A step of a compiled walk is one
instruction. Of the interpreted walks only the guarded one is interrupted, since only that is in
use.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from frazil.generator import calls, keeper_policy
from frazil.walk import atomic

__all__ = ["Striker", "Struck"]

Answer = TypeVar("Answer")

_CALLERS = frozenset(module.__file__ for module in (calls, keeper_policy))
_WALK = Path(atomic.__file__).parent
_WALKS = frozenset(str(_WALK / name) for name in ("atomic.py", "walk.py"))


class Struck(Exception):
    """Raised by the simulated handler."""


class Striker:
    """Interrupts the operations of one process. guarded: whether its walk is an atomic one."""

    def __init__(self, *, guarded: bool) -> None:
        self._files = _CALLERS | _WALKS if guarded else _CALLERS
        self._left = 0

    def arm(self, steps: int) -> None:
        """Raise after so many steps of the next operations."""
        self._left = steps

    def perform(self, operation: Callable[[], Answer]) -> Answer:
        """Perform an operation. Raises Struck if its step has come."""
        if not self._left:
            return operation()
        before = sys.gettrace()
        sys.settrace(self._step)
        try:
            return operation()
        finally:
            sys.settrace(before)

    def _step(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and self._left:
            self._left -= 1
            if not self._left:
                raise Struck
        return self._step
