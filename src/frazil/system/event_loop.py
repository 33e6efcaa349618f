"""The event loop of an awaited call, and of one that blocks it."""

import sys
import warnings
from typing import TYPE_CHECKING

from frazil.errors import ConfigError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


def the_loop() -> "AbstractEventLoop":
    """The running loop; ConfigError in a child that was forked inside its parent's loop."""
    from asyncio import get_running_loop  # slow to load

    try:
        return get_running_loop()
    except RuntimeError:
        raise ConfigError(
            "no event loop runs in this process; an asyncio loop ends with a fork, so use "
            "asyncio.run(...) in the child"
        ) from None


def warn_if_blocked(store: str, cure: str = "") -> bool:
    """Warn if this thread runs an event loop, which a wait for a store stops. Whether it does.

    The warning names the line that called frazil.
    """
    asyncio = sys.modules.get("asyncio")  # without it no loop runs
    if asyncio is None or asyncio._get_running_loop() is None:  # noqa: SLF001
        return False
    warnings.warn(
        f"a generator of frazil.open waits for an ID of {store} and blocks the event loop; use "
        f"frazil.aio.open{cure}",
        RuntimeWarning,
        stacklevel=_callers_level(),
    )
    return True


def _callers_level() -> int:
    """The ``stacklevel`` of the first caller outside frazil, for a warning of this one's caller."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "frazil":
        frame, level = frame.f_back, level + 1
    return level
