"""What a parser says to a text: a value, or a refusal that is the caller's to mend."""

from collections.abc import Callable
from typing import Any

from frazil.errors import Misuse

__all__ = ["accepted"]


def accepted(read: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What ``read`` answers; None for what it refuses. Any other error is a finding."""
    try:
        return read(*arguments, **named)
    except Misuse:
        return None
