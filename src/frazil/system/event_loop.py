"""The event loop of an awaited call."""

from typing import TYPE_CHECKING

from frazil.errors import ConfigError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["the_loop"]


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
