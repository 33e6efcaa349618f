"""Ctrl-C and SIGTERM: the command removes its temporary files, and cuts no line of its output.

Python raises KeyboardInterrupt between any two bytecodes, also while a block of lines is written.
The half of an ID is then the last line of a pipe, and looks like an ID. So a signal that arrives in
the block of ``whole`` is raised at its end. A reader that reads nothing delays that; a second
signal ends the command at once. SIGTERM, which systemd and containers send, does the same.

``timeout`` and some shells send a signal to a process and again to its group. So a second signal
counts only if it arrives some time after the first.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN_S = 0.2  # signals within this time are one
_USUAL: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}


class _Stop:
    """What is known of the signals so far."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """No signal arrived."""
        self.number: int = signal.SIGINT
        self.first_s: float | None = None
        self.holds = False
        self.at_once = False


_stop = _Stop()


def exit_code() -> int:
    """The exit code of a command that a signal ended, as shells report it."""
    return 128 + _stop.number


def at_once() -> bool:
    """Whether a second signal ended the command, perhaps within a line."""
    return _stop.at_once


@contextmanager
def handled() -> Iterator[None]:
    """In the block both signals raise KeyboardInterrupt, but not if a caller handles them."""
    _stop.reset()
    found = [number for number in _USUAL if signal.getsignal(number) is _USUAL[number]]
    try:
        for number in found:
            signal.signal(number, _arrived)
    except ValueError:  # not the main thread
        found = []
    try:
        yield
    finally:
        for number in found:
            signal.signal(number, _USUAL[number])


@contextmanager
def whole() -> Iterator[None]:
    """A block that a first signal does not interrupt: it writes whole lines."""
    _stop.holds = True
    try:
        yield
    finally:
        _stop.holds = False
    if _stop.first_s is not None:
        raise KeyboardInterrupt


@contextmanager
def on_stop(text: Callable[[], str]) -> Iterator[None]:
    """A text that says what a signal in the block leaves; that of the innermost block is shown."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.args = stop.args or (text(),)
        raise


def _arrived(number: int, _frame: object) -> None:
    now_s = time.monotonic()
    if _stop.first_s is None:
        _stop.number, _stop.first_s = number, now_s
        if _stop.holds:
            return
    elif now_s - _stop.first_s < _AGAIN_S:
        return
    else:
        _stop.at_once = True
    raise KeyboardInterrupt
