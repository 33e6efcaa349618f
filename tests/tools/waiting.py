"""Waiting for something to come true, with a limit."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["until"]


def until(ready: Callable[[], Any], what: str, *, patience_s: float = 60.0) -> Any:
    """Wait for something to come true; answers it."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {patience_s} s for {what}")
