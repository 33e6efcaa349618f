"""The effects of a signal handler, between any two instructions of the code under test.

A real signal comes at some instruction; a test that waits for the right one waits for ever. Python
tells a tracer of each instruction, and what the tracer does there is done as by a handler: it may
raise, fork, or ask for an ID itself.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import frazil

ROOT = str(Path(frazil.__file__).parent)


class Struck(Exception):
    """The exception of a handler, such as that of an alarm."""


def strike(number: int, files: tuple[str, ...], do: Callable[[], Any], work: Callable[[], Any]):
    """Do ``work``, and ``do`` before instruction ``number`` of these files; whether it came so far.

    files: modules of frazil such as ``walk/locked``, or absolute paths.

    Raises what ``work`` raises.
    """
    left = number
    mine = tuple(str(Path(ROOT, file).with_suffix(".py")) for file in files)
    assert all(Path(file).exists() for file in mine), mine

    def tracer(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename not in mine:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                sys.settrace(None)
                do()
        return tracer

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # else Python 3.12 traces none in the first frame
    sys.settrace(tracer)
    try:
        work()
    finally:
        sys.settrace(before)
    return left <= 0


def every(step: int = 1) -> Iterator[int]:
    """Each instruction's number, or each ``step``-th."""
    return count(1, step)


def raise_struck() -> None:
    """The action of most handlers that set a time limit."""
    raise Struck
