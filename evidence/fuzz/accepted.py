"""The result of a parser: a value, or a refusal that the caller can correct."""

from collections.abc import Callable
from typing import Any

from frazil.errors import Misuse

__all__ = ["accepted"]


def accepted(read: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What ``read`` returns, or None if it refuses. Any other error is a finding."""
    try:
        return read(*arguments, **named)
    except Misuse:
        return None
