"""The event loop of a call that is awaited."""

from typing import TYPE_CHECKING

from frazil.errors import ConfigError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["the_loop"]


def the_loop() -> "AbstractEventLoop":
    """The loop that runs; ConfigError in a child that goes on inside its parent's."""
    from asyncio import get_running_loop  # what uses no loop need not load it

    try:
        return get_running_loop()
    except RuntimeError:
        raise ConfigError(
            "no event loop runs in this process; an asyncio loop ends with a fork, so use "
            "asyncio.run(...) in the child"
        ) from None
